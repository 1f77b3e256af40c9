import { startOf } from "./address.ts";
import { formatWeekday } from "./period-choice.tsx";
import { reports } from "./reports-texts.ts";

interface Props {
  readonly counts: readonly { readonly day: string; readonly episodes: number }[];
  readonly selected: string | null;
  readonly onSelect: (day: string | null) => void;
}

/** With more days, a bar would be too narrow to be pressed. */
const MAX_BARS = 32;

/** One bar for each day; a bar is a button that chooses the day. */
export function DayBars({ counts, selected, onSelect }: Props) {
  if (counts.length > MAX_BARS || counts.length < 2) return null;
  const most = Math.max(1, ...counts.map(({ episodes }) => episodes));
  return (
    <div class="day-bars" role="group" aria-label={reports.denied.byDay}>
      {counts.map(({ day, episodes }) => (
        <button
          key={day}
          type="button"
          aria-pressed={day === selected}
          aria-label={reports.denied.dayLabel(formatWeekday(day), episodes)}
          title={reports.denied.dayLabel(formatWeekday(day), episodes)}
          data-count={episodes === 0 ? "" : episodes}
          data-date={startOf(day).getDate()}
          onClick={() => onSelect(day === selected ? null : day)}
        >
          <span class="bar-fill" style={{ height: `${(episodes / most) * 4}rem` }} />
        </button>
      ))}
    </div>
  );
}
