import { formatDate, formatNumber, formatMean } from "../format.ts";
import { Facts, type Fact } from "../parts/facts.tsx";
import type { PoolReply, PoolUse } from "./pool-rows.ts";
import { reports } from "./reports-texts.ts";
import { formatHours } from "./tables.tsx";

const { figures: texts, pools } = reports;

interface Props {
  readonly pool: PoolReply;
  readonly now: PoolUse | null;
}

/** The figures of one product or feature. */
export function PoolFigures({ pool, now }: Props) {
  const facts: readonly Fact[] = [
    [
      texts.now,
      now === null ? "–" : pools.ofLimit(formatNumber(now.used), formatNumber(now.limit)),
    ],
    [texts.peak, formatNumber(pool.peak)],
    [texts.p95, formatNumber(pool.p95)],
    [texts.p99, formatNumber(pool.p99)],
    [texts.mean, formatMean(pool.mean)],
    [texts.full, <FullTime key="full" pool={pool} />],
    [texts.people, formatNumber(pool.people)],
    [
      texts.denied,
      <span key="denied" class={pool.episodes > 0 ? "warn" : ""}>
        {formatNumber(pool.episodes)}
      </span>,
    ],
  ];
  return (
    <section class="card figures-card">
      <Facts facts={facts} as="tiles" />
      <p class="hint">
        {texts.percentiles}
        {pool.limits.length > 1 && <> {texts.limitChanged(limitList(pool))}</>}
      </p>
    </section>
  );
}

function FullTime({
  pool: { hours_at_limit: full, observed_hours: observed },
}: Pick<Props, "pool">) {
  const share = observed === 0 ? 0 : full / observed;
  return (
    <>
      {formatHours(full)} <small class="muted">{texts.fullShare(formatShare(share))}</small>
    </>
  );
}

const shareFormat = new Intl.NumberFormat(undefined, {
  style: "percent",
  maximumFractionDigits: 1,
});

const formatShare = (share: number): string => shareFormat.format(share);

const limitList = ({ limits }: PoolReply): string =>
  limits
    .map(({ from, limit }) => texts.limitFrom(formatNumber(limit), formatDate(from)))
    .join(", ");
