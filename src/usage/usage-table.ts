import { earliest, HOUR, instant, MINUTE, type Instant } from "../domain/time.ts";
import type { PoolName } from "../domain/model/slots/pool-name.ts";
import type { TimeSpan } from "./time-span.ts";

/** Usage is counted in steps of this length; every other step is a multiple of it. */
export const USAGE_STEP = 5 * MINUTE;
export const STEPS_PER_HOUR = HOUR / USAGE_STEP;

/** How the figures of two steps, or of the same step at two clocks, become one figure. */
const COMBINE = {
  /** The most slots in use at once. */
  peak: Math.max,
  /** The slots in use, times the milliseconds they were in use. */
  slotTime: add,
  /** Milliseconds in which all slots were in use. */
  fullTime: add,
  /** The most borrowed slots at once. */
  borrowed: Math.max,
  /** The most users in the queue at once. */
  waiting: Math.max,
  /** Denied episodes that began. */
  episodes: add,
  /** What was counted; may be negative. */
  consumed: add,
} as const;

export type FigureName = keyof typeof COMBINE;
type UsageFigures = Record<FigureName, number>;

export const FIGURE_NAMES = Object.keys(COMBINE) as readonly FigureName[];

/** One hour of a pool: each figure in twelve steps, or in one if it is folded. */
export type UsageHour = Record<FigureName, number[]>;

/** The slots of a pool that were licensed in a span of time. */
export interface LimitSpan extends TimeSpan {
  readonly slots: number;
}

export interface PoolUsage extends PoolName {
  /** In the order of the audit log. Without a span, no license was installed, or it is unknown. */
  readonly limits: LimitSpan[];
  /** By hours since 1970; an hour without use is absent. */
  readonly hours: Map<number, UsageHour>;
}

/** The usage of a site, step by step. */
export class UsageTable {
  /** When the appliance kept the audit log; two spans overlap if the clock was set back. */
  readonly observed: TimeSpan[] = [];
  readonly #pools = new Map<string, PoolUsage>();

  get pools(): Iterable<PoolUsage> {
    return this.#pools.values();
  }

  findOrAddPool({ product, feature }: PoolName): PoolUsage {
    const key = JSON.stringify([product, feature]);
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = { product, feature, limits: [], hours: new Map() };
      this.#pools.set(key, pool);
    }
    return pool;
  }

  /** Adds what another table says; spans that follow each other become one. */
  addTable(other: UsageTable): void {
    for (const span of other.observed) addSpan(this.observed, span, () => true);
    for (const { limits, hours, ...key } of other.pools) {
      const pool = this.findOrAddPool(key);
      for (const span of limits) addSpan(pool.limits, span, (last) => last.slots === span.slots);
      for (const [hour, figures] of hours) addHour(pool, hour, figures);
    }
  }
}

export function addSpan<S extends TimeSpan>(
  spans: S[],
  span: S,
  isSame: (last: S) => boolean,
): void {
  const last = spans.at(-1);
  if (last !== undefined && last.to === span.from && isSame(last)) {
    spans[spans.length - 1] = { ...last, to: span.to };
  } else if (span.from < span.to) spans.push({ ...span });
}

export function addHour({ hours }: PoolUsage, hour: number, figures: UsageHour): void {
  const before = hours.get(hour);
  if (before === undefined) {
    hours.set(
      hour,
      mapFigures((name) => [...figures[name]]),
    );
    return;
  }
  const isFolded = before.peak.length !== figures.peak.length;
  const [a, b] = isFolded ? [foldHour(before), foldHour(figures)] : [before, figures];
  hours.set(
    hour,
    mapFigures((name) => a[name].map((value, step) => COMBINE[name](value, b[name][step] ?? 0))),
  );
}

/** The same hour in one step. */
export const foldHour = (figures: UsageHour): UsageHour =>
  mapFigures((name) => [figures[name].reduce((all, value) => COMBINE[name](all, value), 0)]);

/** Adds figures to the step of an instant. */
export function addToStep(pool: PoolUsage, at: Instant, figures: Partial<UsageFigures>): void {
  const step = Math.floor(at / USAGE_STEP);
  const hour = Math.floor(step / STEPS_PER_HOUR);
  let entry = pool.hours.get(hour);
  if (entry === undefined) {
    entry = mapFigures(() => Array.from({ length: STEPS_PER_HOUR }, () => 0));
    pool.hours.set(hour, entry);
  }
  const index = step - hour * STEPS_PER_HOUR;
  for (const name of FIGURE_NAMES) {
    const value = figures[name];
    if (value !== undefined) entry[name][index] = COMBINE[name](entry[name][index] ?? 0, value);
  }
}

/** What a table says of the time before an instant. The step of the instant is not included. */
export function keepUsageBefore(table: UsageTable, end: Instant): UsageTable {
  const older = new UsageTable();
  for (const { from, to } of table.observed)
    addSpan(older.observed, { from, to: earliest(to, end) }, () => false);
  for (const { product, feature, limits, hours } of table.pools) {
    const pool = older.findOrAddPool({ product, feature });
    for (const span of limits)
      addSpan(pool.limits, { ...span, to: earliest(span.to, end) }, () => false);
    for (const [hour, figures] of hours) {
      const steps = figures.peak.length;
      const isKept = (step: number): boolean =>
        startOfHour(hour) + ((step + 1) * HOUR) / steps <= end;
      if (!isKept(0)) continue;
      const keep = (value: number, step: number): number => (isKept(step) ? value : 0);
      pool.hours.set(
        hour,
        mapFigures((name) => figures[name].map(keep)),
      );
    }
  }
  return older;
}

export const combineFigure = (name: FigureName, a: number, b: number): number =>
  COMBINE[name](a, b);

export const mapFigures = <T>(make: (name: FigureName) => T): Record<FigureName, T> => ({
  peak: make("peak"),
  slotTime: make("slotTime"),
  fullTime: make("fullTime"),
  borrowed: make("borrowed"),
  waiting: make("waiting"),
  episodes: make("episodes"),
  consumed: make("consumed"),
});

export const startOfHour = (hour: number): Instant => instant(hour * HOUR);

function add(a: number, b: number): number {
  return a + b;
}
