import { describeEnd, isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant } from "../../domain/time.ts";
import type { StatusReply } from "../../http/reply/status.ts";
import { formatDate, formatNumber } from "../format.ts";
import { SlotBar } from "../parts/slot-bar.tsx";
import { linkTo } from "../router.ts";
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
        <span>{availabilityText(used, all)}</span>
      </p>
      {license.max_consumptions !== null && (
        <Consumption total={license.total_consumptions} max={license.max_consumptions} />
      )}
    </article>
  );
}

function availabilityText(used: number, all: number): string {
  if (used > all) return overview.over(formatNumber(used - all));
  return used === all ? overview.full : overview.free(formatNumber(all - used));
}

export function Validity({ license, now }: { license: LicenseStatus; now: string }) {
  const { validity_period: end } = license;
  if (end === null) return <span class="validity">{overview.noExpiry}</span>;
  const [endsAt, at] = [instant(Date.parse(end)), instant(Date.parse(now))];
  if (endsAt <= at) return <span class="validity bad">{overview.expired}</span>;
  return isEndingSoon(endsAt, at) ? (
    <span class="validity warn">{describeEnd(endsAt, at)}</span>
  ) : (
    <span class="validity">{overview.validUntil(formatDate(end))}</span>
  );
}

export function Consumption({ total, max }: { total: number; max: number }) {
  const over = total - max;
  return (
    <div class="consumption">
      <progress
        value={Math.min(total, max)}
        max={Math.max(1, max)}
        aria-label={overview.consumed(formatNumber(total), formatNumber(max))}
      />
      <span>
        {overview.consumed(formatNumber(total), formatNumber(max))}
        {over > 0 && `, ${overview.consumedOver(formatNumber(over))}`}
      </span>
    </div>
  );
}
