import { HOUR, type Instant } from "../../domain/time.ts";
import type { TimeSpan } from "../time-span.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { Session, SiteRecord } from "../site-record.ts";
import type { LocalHour } from "./local-hours.ts";
import { weightedPercentile } from "./percentiles.ts";
import { visitLevels, type LevelStretch } from "./pool-levels.ts";
import type { HeatMap, InSteps, PoolFigures } from "./report.ts";

/** What the slots in use of a pool say of one day. */
export interface DayLevels {
  limit: number;
  peak: number;
  slotMs: number;
  atLimitMs: number;
}

export interface PoolLevels {
  readonly figures: Omit<
    PoolFigures,
    keyof PoolName | "sessions" | "people" | "episodes" | "openEpisodes"
  >;
  readonly days: ReadonlyMap<string, DayLevels>;
}

/** The figures of the slots in use of one pool; `hours` covers the window. */
export function* computePoolLevels(
  record: Pick<SiteRecord, "clockPeriods" | "terms">,
  key: PoolName,
  sessions: readonly Session[],
  window: TimeSpan,
  hours: readonly LocalHour[],
): InSteps<PoolLevels> {
  const timeAtLevel = new Map<number, number>();
  const days = new Map<string, DayLevels>();
  const heat = new HeatCells();
  const limits: { from: Instant; limit: number }[] = [];
  let [observedMs, slotMs, atLimitMs, peak, limit] = [0, 0, 0, 0, 0];
  const visit = (stretch: LevelStretch): void => {
    ({ limit } = stretch);
    if (limits.at(-1)?.limit !== limit) limits.push({ from: stretch.from, limit });
    if (!stretch.isInstalled && stretch.level === 0) return;
    const { level } = stretch;
    const duration = stretch.to - stretch.from;
    const atLimit = stretch.isInstalled && level > 0 && level >= limit ? duration : 0;
    timeAtLevel.set(level, (timeAtLevel.get(level) ?? 0) + duration);
    observedMs += duration;
    slotMs += level * duration;
    atLimitMs += atLimit;
    peak = Math.max(peak, level);
    const hour = findHour(hours, stretch.from);
    if (hour === undefined) return;
    heat.add(hour, level, duration);
    let day = days.get(hour.day);
    if (day === undefined)
      days.set(hour.day, (day = { limit: 0, peak: 0, slotMs: 0, atLimitMs: 0 }));
    day.limit = Math.max(day.limit, limit);
    day.peak = Math.max(day.peak, level);
    day.slotMs += level * duration;
    day.atLimitMs += atLimit;
  };
  const breaks = hours.map(({ from }) => from);
  yield* visitLevels(record, key, sessions, window, breaks, visit);
  const figures = {
    limit,
    limits,
    peak,
    p95: weightedPercentile(timeAtLevel, 0.95),
    p99: weightedPercentile(timeAtLevel, 0.99),
    mean: observedMs === 0 ? 0 : slotMs / observedMs,
    hoursAtLimit: atLimitMs / HOUR,
    observedHours: observedMs / HOUR,
    slotHours: slotMs / HOUR,
    heatMap: heat.toHeatMap(),
  };
  return { figures, days };
}

/** Hours follow each other without gaps, so the position can be computed. */
export const findHourIndex = (hours: readonly LocalHour[], at: number): number =>
  Math.floor((at - (hours[0]?.from ?? at)) / HOUR);

export const findHour = (hours: readonly LocalHour[], at: Instant): LocalHour | undefined =>
  hours[findHourIndex(hours, at)];

const CELLS = 7 * 24;

class HeatCells {
  readonly #slotMs = new Float64Array(CELLS);
  readonly #observedMs = new Float64Array(CELLS);
  readonly #peaks = new Float64Array(CELLS);

  add({ weekday, hour }: LocalHour, level: number, duration: number): void {
    const cell = weekday * 24 + hour;
    this.#slotMs[cell] = (this.#slotMs[cell] ?? 0) + level * duration;
    this.#observedMs[cell] = (this.#observedMs[cell] ?? 0) + duration;
    this.#peaks[cell] = Math.max(this.#peaks[cell] ?? 0, level);
  }

  toHeatMap(): HeatMap {
    const rows = (read: (cell: number) => number): (number | null)[][] =>
      Array.from({ length: 7 }, (_, weekday) =>
        Array.from({ length: 24 }, (_unused, hour) => {
          const cell = weekday * 24 + hour;
          return (this.#observedMs[cell] ?? 0) === 0 ? null : read(cell);
        }),
      );
    return {
      mean: rows((cell) => (this.#slotMs[cell] ?? 0) / (this.#observedMs[cell] ?? 1)),
      peak: rows((cell) => this.#peaks[cell] ?? 0),
    };
  }
}
