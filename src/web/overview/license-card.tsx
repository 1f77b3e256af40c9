import { describeEnd, isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant } from "../../domain/time.ts";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import { formatNumber } from "../format.ts";
import { Time } from "../parts/time.tsx";
import { SlotBar } from "../parts/slot-bar.tsx";
import { queueFigures } from "../queue/queue-status.ts";
import { queue } from "../queue/queue-texts.ts";
import { linkTo } from "../router.ts";
import { expiryWarningDays, serverStatus } from "../status-stream.ts";
import { overview } from "./overview-texts.ts";

type LicenseStatus = StatusReply["licenses"][number];

/** One license: slots in use, consumption and expiry. */
export function LicenseCard({ license, now }: { license: LicenseStatus; now: string }) {
  const { product, license_id, floating_users: all, floating_slots_in_use: used } = license;
  return (
    <article class={license.refusal === null ? "card license" : "card license refused"}>
      <header>
        <h3>
          <a href={linkTo("licenses", String(license_id))}>{product}</a>
        </h3>
        <Validity license={license} now={now} />
      </header>
      <SlotBar used={used} total={all} />
      <p class="figures">
        <a href={linkTo("slots", product)}>
          {overview.inUse(formatNumber(used), formatNumber(all))}
        </a>
        <Availability license={license} />
      </p>
      <SharingFigures product={product} />
      {license.max_consumptions !== null && (
        <Consumption total={license.total_consumptions} max={license.max_consumptions} />
      )}
    </article>
  );
}

/** What concerns a product as a whole, whichever of its licenses grants a slot. */
function SharingFigures({ product }: { product: string }) {
  const { waiting, holds } = queueFigures(product);
  const reservation = findReservation(product);
  if (waiting + holds === 0 && reservation === null) return null;
  return (
    <p class="sharing">
      {waiting > 0 && (
        <a href={linkTo("queue", product)}>{queue.waiting(waiting, formatNumber(waiting))}</a>
      )}
      {holds > 0 && (
        <a href={linkTo("queue", product)}>{queue.holds(holds, formatNumber(holds))}</a>
      )}
      {reservation !== null && (
        <a href={linkTo("rules")}>
          {overview.reserved(
            formatNumber(reservation.reserved),
            formatNumber(reservation.reserved - reservation.idle),
          )}
        </a>
      )}
    </p>
  );
}

/** The reserved slots of the product itself; null: none. */
const findReservation = (product: string) =>
  serverStatus.value?.rules?.reservations.find(
    (pool) => pool.product === product && pool.feature === null,
  ) ?? null;

/** A license that is refused grants none of its free slots; a held slot is kept for its user. */
function Availability({ license }: { license: LicenseStatus }) {
  const { refusal, floating_users: all, floating_slots_in_use: used } = license;
  const free = all - used - license.floating_slots_held;
  if (refusal !== null) return <span class="bad">{overview.noSlots}</span>;
  if (used > all) return <span class="warn">{overview.over(formatNumber(used - all))}</span>;
  return <span>{free <= 0 ? overview.full : overview.free(formatNumber(free))}</span>;
}

export function Validity({ license, now }: { license: LicenseStatus; now: string }) {
  const { validity_period: end } = license;
  if (end === null) return <span class="validity">{overview.noExpiry}</span>;
  const [endsAt, at] = [instant(Date.parse(end)), instant(Date.parse(now))];
  if (endsAt <= at) return <span class="validity bad">{overview.expired}</span>;
  return isEndingSoon(endsAt, at, expiryWarningDays.value) ? (
    <span class="validity warn">{describeEnd(endsAt, at)}</span>
  ) : (
    <span class="validity">
      {overview.validUntil} <Time at={end} as="date" />
    </span>
  );
}

export function Consumption({ total, max }: { total: number; max: number }) {
  const over = total - max;
  return (
    <div class={over > 0 ? "consumption over" : "consumption"}>
      <progress
        value={Math.min(total, max)}
        max={Math.max(1, max)}
        aria-label={overview.consumed(formatNumber(total), formatNumber(max))}
      />
      <span>
        {overview.consumed(formatNumber(total), formatNumber(max))}
        {over > 0 && <strong class="warn">, {overview.consumedOver(formatNumber(over))}</strong>}
      </span>
    </div>
  );
}
