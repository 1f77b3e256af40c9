import { formatNumber } from "../format.ts";
import { overview } from "../texts/overview.ts";

interface Props {
  readonly used: number;
  readonly total: number;
}

/** Above this many, single berths would be too thin to see. */
const MAX_COUNTABLE_SLOTS = 48;

/** Slots as berths at a quay while they can be counted, as one bar when there are more. */
export function SlotBar({ used, total }: Props) {
  const level = used >= total ? "full" : used >= total * 0.9 ? "high" : "usual";
  return (
    <div
      class={`slot-bar ${level}`}
      role="img"
      aria-label={overview.inUse(formatNumber(used), formatNumber(total))}
    >
      {total <= MAX_COUNTABLE_SLOTS ? (
        Array.from({ length: total }, (_, place) => (
          <span key={place} class={place < used ? "berth taken" : "berth"} />
        ))
      ) : (
        <span class="share" style={{ width: `${Math.min(100, (used / total) * 100)}%` }} />
      )}
    </div>
  );
}
