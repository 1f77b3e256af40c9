import { formatNumber } from "../format.ts";
import { overview } from "../overview/overview-texts.ts";

interface Props {
  readonly used: number;
  readonly total: number;
}

/** Above this number, single segments would be too thin to see. */
const MAX_COUNTABLE_SLOTS = 48;

/** One segment per slot while they can be counted, one plain bar above that. */
export function SlotBar({ used, total }: Props) {
  const level = used >= total ? "full" : used >= total * 0.9 ? "high" : "usual";
  return (
    <div
      class={`slot-bar ${level}`}
      role="img"
      aria-label={overview.inUse(formatNumber(used), formatNumber(total))}
    >
      {total <= MAX_COUNTABLE_SLOTS ? (
        Array.from({ length: total }, (_, slot) => (
          <span key={slot} class={slot < used ? "berth taken" : "berth"} />
        ))
      ) : (
        <span class="share" style={{ width: `${Math.min(100, (used / total) * 100)}%` }} />
      )}
    </div>
  );
}
