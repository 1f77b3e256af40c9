import type { Demand } from "../../domain/model/demand/episode.ts";
import { personOf } from "../../domain/model/slots/person.ts";
import { DAY, type Instant, countDays } from "../../domain/time.ts";
import { clipToClockPeriods } from "../clock-periods.ts";
import type { CountedConsumption, SiteRecord, TermsPeriod } from "../site-record.ts";

/** The beginnings of the first day, and of the day after the last. */
export interface DayRange {
  readonly from: Instant;
  readonly to: Instant;
}

/** The use of a license or of one of its features: one number for each day. */
export interface PoolFigures {
  readonly feature: string | null;
  /** The most slots that were held at once, for a measurable time. */
  readonly peak: readonly number[];
  readonly slotMinutes: readonly number[];
  readonly people: readonly number[];
  readonly consumption: readonly number[];
  /** The part of the consumption above the maximum of the terms at that time. */
  readonly overage: readonly number[];
}

export interface LicenseFigures {
  readonly license: number;
  readonly product: string;
  /** Pools that were used; the license's own first. */
  readonly pools: readonly PoolFigures[];
}

/** Denied episodes that began. A denied slot may concern every license of the product. */
export interface DeniedFigures {
  readonly product: string;
  readonly feature: string | null;
  readonly episodes: readonly number[];
}

export interface StatementFigures {
  /** The licenses that were installed at some time of the range, also unused ones. */
  readonly licenses: readonly LicenseFigures[];
  readonly denied: readonly DeniedFigures[];
}

/** An episode, whether it has ended or not. */
export interface BegunEpisode extends Demand {
  readonly firstAt: Instant;
}

/** What was used of one vendor's licenses, and nothing else. */
export function computeStatementFigures(
  record: SiteRecord,
  openEpisodes: readonly BegunEpisode[],
  vendor: string,
  range: DayRange,
): StatementFigures {
  const terms = record.terms.filter((period) => period.vendor === vendor);
  const installed = terms.filter((period) => isInRange(period, record, range));
  const products = new Map(installed.map(({ license, terms: { product } }) => [license, product]));
  const pools = new PoolTable(countDays(range.from, range.to));
  addSessions(pools, products, record, range);
  addConsumptions(pools, products, terms, record, range);
  return {
    licenses: [...products]
      .toSorted(([a], [b]) => a - b)
      .map(([license, product]) => ({ license, product, pools: pools.listOf(license) })),
    denied: countEpisodes([...record.episodes, ...openEpisodes], terms, range),
  };
}

const isInRange = (period: TermsPeriod, { clockPeriods }: SiteRecord, range: DayRange): boolean =>
  clipToClockPeriods({ ...period, start: period.from, end: period.to }, clockPeriods).some(
    ({ from, to }) => from < range.to && to > range.from,
  );

interface PoolCounts {
  readonly feature: string | null;
  /** By clock period. */
  readonly parts: Map<number, LevelPart[]>;
  readonly people: readonly Set<string>[];
  readonly consumption: number[];
  readonly overage: number[];
}

/** The pools of each license, made when they are used. */
class PoolTable {
  readonly #days: number;
  readonly #pools = new Map<number, Map<string | null, PoolCounts>>();

  constructor(days: number) {
    this.#days = days;
  }

  find(license: number, feature: string | null): PoolCounts {
    let pools = this.#pools.get(license);
    if (pools === undefined) this.#pools.set(license, (pools = new Map()));
    let pool = pools.get(feature);
    if (pool === undefined) {
      pool = {
        feature,
        parts: new Map(),
        people: Array.from({ length: this.#days }, () => new Set<string>()),
        consumption: zeros(this.#days),
        overage: zeros(this.#days),
      };
      pools.set(feature, pool);
    }
    return pool;
  }

  listOf(license: number): PoolFigures[] {
    const pools = [...(this.#pools.get(license)?.values() ?? [])];
    return pools
      .toSorted((a, b) => compareCodes(a.feature, b.feature))
      .map(({ feature, parts, people, consumption, overage }) => {
        const levels = { peak: zeros(this.#days), slotTime: zeros(this.#days) };
        for (const partsOfPeriod of parts.values()) addLevels(levels, partsOfPeriod);
        return {
          feature,
          peak: levels.peak,
          slotMinutes: levels.slotTime.map((time) => Math.round(time / 60_000)),
          people: people.map(({ size }) => size),
          consumption,
          overage,
        };
      });
  }
}

const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

/** The license itself first, then its features by their codes. */
function compareCodes(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}

function addSessions(
  pools: PoolTable,
  products: ReadonlyMap<number, string>,
  { sessions, clockPeriods }: SiteRecord,
  range: DayRange,
): void {
  for (const session of sessions) {
    if (!products.has(session.license)) continue;
    for (const { clockPeriod, from, to } of clipToClockPeriods(session, clockPeriods)) {
      const part = { from: Math.max(from, range.from), to: Math.min(to, range.to) };
      if (part.from >= part.to) continue;
      const pool = pools.find(session.license, session.feature);
      const relative = { from: part.from - range.from, to: part.to - range.from };
      const parts = pool.parts.get(clockPeriod);
      if (parts === undefined) pool.parts.set(clockPeriod, [relative]);
      else parts.push(relative);
      const last = Math.floor((relative.to - 1) / DAY);
      for (let day = Math.floor(relative.from / DAY); day <= last; day += 1)
        pool.people[day]?.add(personOf(session.user));
    }
  }
}

function addConsumptions(
  pools: PoolTable,
  products: ReadonlyMap<number, string>,
  terms: readonly TermsPeriod[],
  { consumptions }: SiteRecord,
  range: DayRange,
): void {
  const termsByLicense = Map.groupBy(terms, ({ license }) => license);
  for (const consumption of consumptions) {
    const { license, feature, at, count } = consumption;
    if (!products.has(license) || at < range.from || at >= range.to) continue;
    const { consumption: sums, overage } = pools.find(license, feature);
    const day = Math.floor((at - range.from) / DAY);
    const max = findMaximum(termsByLicense.get(license) ?? [], consumption);
    sums[day] = (sums[day] ?? 0) + count;
    overage[day] = (overage[day] ?? 0) + overageOf(consumption, max);
  }
}

/** The maximum when it was counted; null: no maximum. */
function findMaximum(
  periods: readonly TermsPeriod[],
  { seq, feature }: CountedConsumption,
): number | null {
  const terms = periods.findLast(({ startSeq }) => startSeq === null || startSeq < seq)?.terms;
  const counted =
    feature === null
      ? terms?.consumption
      : terms?.features.find(({ code }) => code === feature)?.consumption;
  return counted?.max ?? null;
}

/** Below 0 if a negative count takes back what was above the maximum. */
function overageOf({ count, total }: CountedConsumption, max: number | null): number {
  if (max === null) return 0;
  const [above, aboveBefore] = [Math.max(0, total - max), Math.max(0, total - count - max)];
  return above - aboveBefore;
}

/** Only of products and features that the vendor's own terms name. */
function countEpisodes(
  episodes: readonly BegunEpisode[],
  terms: readonly TermsPeriod[],
  range: DayRange,
): DeniedFigures[] {
  const denied = new Map<string, { product: string; feature: string | null; days: number[] }>();
  const counted = new Set<string>();
  for (const { product, feature, user, firstAt } of episodes) {
    if (firstAt < range.from || firstAt >= range.to) continue;
    const isOfVendor = terms.some(
      (period) =>
        period.terms.product === product &&
        (feature === null || period.terms.features.some(({ code }) => code === feature)) &&
        wasInForceAt(period, firstAt),
    );
    // An episode that ends while the record is read is both among the open and the ended ones.
    const episode = JSON.stringify([product, feature, user, firstAt]);
    if (!isOfVendor || counted.has(episode)) continue;
    counted.add(episode);
    const key = JSON.stringify([product, feature]);
    const days = denied.get(key)?.days ?? zeros(countDays(range.from, range.to));
    const day = Math.floor((firstAt - range.from) / DAY);
    days[day] = (days[day] ?? 0) + 1;
    denied.set(key, { product, feature, days });
  }
  return [...denied.values()]
    .toSorted((a, b) =>
      a.product === b.product
        ? compareCodes(a.feature, b.feature)
        : compareCodes(a.product, b.product),
    )
    .map(({ product, feature, days }) => ({ product, feature, episodes: days }));
}

/** A product may have had licenses of another vendor before. */
const wasInForceAt = ({ from, to, startPeriod, endPeriod }: TermsPeriod, at: Instant): boolean =>
  startPeriod !== endPeriod || (from <= at && (to === null || at < to));

/** A time in milliseconds after the beginning of the first day; `to` is exclusive. */
interface LevelPart {
  readonly from: number;
  readonly to: number;
}

interface DayLevels {
  /** The highest number of parts at the same time, by day. */
  readonly peak: number[];
  /** The time of all parts together in milliseconds, by day. */
  readonly slotTime: number[];
}

/** Adds parts of one clock period: over clock periods, peaks take the maximum and times add. */
function addLevels({ peak, slotTime }: DayLevels, parts: readonly LevelPart[]): void {
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
