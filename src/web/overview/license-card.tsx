import { describeEnd, isEndingSoon } from "../../domain/end-date.ts";
import { instant } from "../../domain/time.ts";
import type { StatusReply } from "../../http/status.ts";
import { date, number } from "../format.ts";
import { SlotBar } from "../parts/slot-bar.tsx";
import { linkTo } from "../router.ts";
import { overview } from "../texts/overview.ts";

type License = StatusReply["licenses"][number];

/** One license: who is in, how much is left, until when. */
export function LicenseCard({ license, now }: { license: License; now: string }) {
  const { product, license_id, floating_users: all, floating_slots_in_use: used } = license;
  return (
    <article class={license.refusal === null ? "card license" : "card license refused"}>
      <header>
        <h3>
          <a href={linkTo("licenses", String(license_id))}>{product}</a>
        </h3>
        <Validity license={license} now={now} />
      </header>
      <SlotBar used={used} all={all} />
      <p class="figures">
        <a href={linkTo("slots", product)}>{overview.inUse(number(used), number(all))}</a>
        <span>{standing(used, all)}</span>
      </p>
      {license.max_consumptions !== null && (
        <Consumption total={license.total_consumptions} max={license.max_consumptions} />
      )}
    </article>
  );
}

function standing(used: number, all: number): string {
  if (used > all) return overview.over(number(used - all));
  return used === all ? overview.full : overview.free(number(all - used));
}

export function Validity({ license, now }: { license: License; now: string }) {
  const { validity_period: end } = license;
  if (end === null) return <span class="validity">{overview.noEndDate}</span>;
  const [endsAt, at] = [instant(Date.parse(end)), instant(Date.parse(now))];
  if (endsAt <= at) return <span class="validity bad">{overview.ended}</span>;
  return isEndingSoon(endsAt, at) ? (
    <span class="validity warn">{describeEnd(endsAt, at)}</span>
  ) : (
    <span class="validity">{overview.validFor(date(end))}</span>
  );
}

export function Consumption({ total, max }: { total: number; max: number }) {
  const over = total - max;
  return (
    <div class="consumption">
      <progress
        value={Math.min(total, max)}
        max={Math.max(1, max)}
        aria-label={overview.counted(number(total), number(max))}
      />
      <span>
        {overview.counted(number(total), number(max))}
        {over > 0 && `, ${overview.countedOver(number(over))}`}
      </span>
    </div>
  );
}
