import { number } from "../format.ts";
import { overview } from "../texts/overview.ts";

interface Props {
  readonly used: number;
  readonly all: number;
}

/** Above this many, single berths would be too thin to see. */
const COUNTABLE = 48;

/** Slots as berths at a quay while they can be counted, as one bar when there are more. */
export function SlotBar({ used, all }: Props) {
  const level = used >= all ? "full" : used >= all * 0.9 ? "high" : "usual";
  return (
    <div
      class={`slot-bar ${level}`}
      role="img"
      aria-label={overview.inUse(number(used), number(all))}
    >
      {all <= COUNTABLE ? (
        Array.from({ length: all }, (_, place) => (
          <span key={place} class={place < used ? "berth taken" : "berth"} />
        ))
      ) : (
        <span class="share" style={{ width: `${Math.min(100, (used / all) * 100)}%` }} />
      )}
    </div>
  );
}
