import type { RulesCheckReply } from "../../http/routes/rules/rules-reply.ts";
import { formatNumber } from "../format.ts";
import { Facts } from "../parts/facts.tsx";
import { preview as texts } from "./preview-texts.ts";
import { isAffected, poolName, type PoolPreview } from "./preview-pools.ts";

interface Props {
  readonly pools: NonNullable<RulesCheckReply["preview"]>;
}

/** What the rules would change for users who hold or wait for a slot now. */
export function Preview({ pools }: Props) {
  return (
    <section class="card rules-preview">
      <h3>{texts.title}</h3>
      <p class="muted">{texts.about}</p>
      {pools.length === 0 && <p>{texts.noPools}</p>}
      {pools.length > 0 && !pools.some(isAffected) && <p>{texts.noneAffected}</p>}
      {pools.map((pool) => (
        <PoolChanges key={poolName(pool)} pool={pool} />
      ))}
    </section>
  );
}

/** A number that the rules change is shown as "before → after". */
const change = (before: number, after: number): string =>
  before === after ? formatNumber(after) : texts.change(formatNumber(before), formatNumber(after));

const PoolChanges = ({ pool }: { pool: PoolPreview }) => (
  <div class="affected">
    <h4>{poolName(pool)}</h4>
    <Facts
      as="lines"
      facts={[
        [texts.facts.inUse, texts.ofAll(formatNumber(pool.slots_in_use), formatNumber(pool.slots))],
        [texts.facts.reserved, change(pool.before.reserved, pool.after.reserved)],
        [texts.facts.available, change(pool.before.available, pool.after.available)],
      ]}
    />
    <Names
      title={texts.denied(pool.denied_total)}
      total={pool.denied_total}
      names={pool.denied.map((entry) => texts.deniedUser(entry))}
    />
    <Names
      title={texts.overLimit(pool.over_limit_total)}
      total={pool.over_limit_total}
      names={pool.over_limit.map((entry) => texts.limited(entry))}
    />
    <Names
      title={texts.deniedWaiting(pool.denied_waiting_total)}
      total={pool.denied_waiting_total}
      names={pool.denied_waiting.map((entry) => texts.deniedUser(entry))}
    />
  </div>
);

interface NamesProps {
  readonly title: string;
  readonly total: number;
  readonly names: readonly string[];
}

/** A few names are shown at once, more on request. */
const MAX_OPEN = 5;

function Names({ title, total, names }: NamesProps) {
  if (total === 0) return null;
  return (
    <details open={names.length <= MAX_OPEN}>
      <summary>{title}</summary>
      <ul>
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
        {total > names.length && <li>{texts.more(formatNumber(total - names.length))}</li>}
      </ul>
    </details>
  );
}
