import { DAY } from "../../domain/time.ts";

/** A time in milliseconds after the beginning of the first day; `to` is exclusive. */
export interface LevelPart {
  readonly from: number;
  readonly to: number;
}

export interface DayLevels {
  /** The highest number of parts at the same time, by day. */
  readonly peak: number[];
  /** The time of all parts together in milliseconds, by day. */
  readonly slotTime: number[];
}

/** Adds parts of one clock period: over clock periods, peaks take the maximum and times add. */
export function addLevels({ peak, slotTime }: DayLevels, parts: readonly LevelPart[]): void {
  const changes = parts
    .flatMap(({ from, to }) => [
      { at: from, step: 1 },
      { at: to, step: -1 },
    ])
    .toSorted((a, b) => a.at - b.at);
  let level = 0;
  let since = 0;
  for (const { at, step } of changes) {
    for (let from = level > 0 ? since : at; from < at;) {
      const day = Math.floor(from / DAY);
      const to = Math.min(at, (day + 1) * DAY);
      peak[day] = Math.max(peak[day] ?? 0, level);
      slotTime[day] = (slotTime[day] ?? 0) + level * (to - from);
      from = to;
    }
    level += step;
    since = at;
  }
}
