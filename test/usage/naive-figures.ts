// An independent count of what a report says. It never sees a session or a line of the audit log:
// between two commands it reads from the state who holds what until when, and adds up.
import type { ClosedEpisode } from "../../src/domain/model/demand/episode.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { State } from "../../src/domain/model/state.ts";
import { DAY, HOUR, instant, type Instant } from "../../src/domain/time.ts";

export interface PoolTotals {
  readonly timeAtLevel: Map<number, number>;
  fullTime: number;
  /** Of each hour of the week, Monday first. */
  readonly slotTimeByHour: number[];
  readonly observedByHour: number[];
  readonly peakByHour: number[];
  readonly timeByPerson: Map<string, number>;
  readonly slotTimeByDay: Map<string, number>;
  readonly peopleByDay: Map<string, Set<string>>;
  episodes: ClosedEpisode[];
  consumed: number;
}

const newTotals = (): PoolTotals => ({
  timeAtLevel: new Map(),
  fullTime: 0,
  slotTimeByHour: Array.from({ length: 168 }, () => 0),
  observedByHour: Array.from({ length: 168 }, () => 0),
  peakByHour: Array.from({ length: 168 }, () => 0),
  timeByPerson: new Map(),
  slotTimeByDay: new Map(),
  peopleByDay: new Map(),
  episodes: [],
  consumed: 0,
});

interface SeenHolder {
  readonly person: string;
  readonly end: number;
}

interface SeenPool {
  readonly holders: readonly SeenHolder[];
  readonly terms: readonly Terms[];
}

export class NaiveFigures {
  readonly pools = new Map<string, PoolTotals>();
  readonly #timeZone: string;
  #now: number;
  #seen = new Map<string, SeenPool>();

  constructor(start: Instant, timeZone: string) {
    this.#now = start;
    this.#timeZone = timeZone;
  }

  /** Time passed until `at`, in which nothing happened but that slots ended. */
  pass(state: State, at: Instant): void {
    this.observe(state);
    for (const [name, pool] of this.#seen) this.#addStretch(name, pool, this.#now, at);
    this.#now = at;
  }

  /** The state after a command. */
  observe(state: State): void {
    const seen = new Map<string, { holders: SeenHolder[]; terms: Terms[] }>();
    const poolOf = (name: string) => {
      const pool = seen.get(name) ?? { holders: [], terms: [] };
      seen.set(name, pool);
      return pool;
    };
    for (const { terms, pool, features } of state.licenses.values()) {
      const product = poolOf(poolName(terms.product, null));
      product.terms.push(terms);
      for (const { user, end } of pool.inSlotOrder())
        product.holders.push({ person: nameOf(user), end });
      for (const [code, feature] of features) {
        const ofFeature = poolOf(poolName(terms.product, code));
        const isFloating = terms.features.some((f) => f.code === code && f.floating !== null);
        if (isFloating) ofFeature.terms.push(terms);
        for (const { user, end } of feature.pool.inSlotOrder())
          ofFeature.holders.push({ person: nameOf(user), end });
      }
    }
    this.#seen = seen;
  }

  setBack(to: Instant): void {
    this.#now = to;
  }

  /** It is recorded now; no time on record is after that. */
  deny(episode: ClosedEpisode): void {
    const [firstAt, endedAt] = [episode.firstAt, episode.endedAt].map((at) =>
      instant(Math.min(at, this.#now)),
    ) as [Instant, Instant];
    const { episodes } = this.#totalsOf(poolName(episode.product, episode.feature));
    episodes.push({ ...episode, firstAt, endedAt });
  }

  count(product: string, feature: string | null, _at: Instant, count: number): void {
    this.#totalsOf(poolName(product, feature)).consumed += count;
  }

  #totalsOf(name: string): PoolTotals {
    const totals = this.pools.get(name) ?? newTotals();
    this.pools.set(name, totals);
    return totals;
  }

  /** Instant by instant: at most an hour each, and never beyond a change. */
  #addStretch(name: string, { holders, terms }: SeenPool, from: number, to: number): void {
    const totals = this.#totalsOf(name);
    const [, feature] = JSON.parse(name) as [string, string | null];
    const changes = [...holders.map(({ end }) => end), ...terms.flatMap(listDates)];
    for (let at = from; at < to;) {
      const nextHour = (Math.floor(at / HOUR) + 1) * HOUR;
      const next = Math.min(to, nextHour, ...changes.filter((change) => change > at));
      const length = next - at;
      const held = holders.filter(({ end }) => end > at);
      const level = held.length;
      if (terms.length > 0 || level > 0) {
        const limit = terms.reduce((sum, t) => sum + slotsAt(t, feature, at), 0);
        add(totals.timeAtLevel, level, length);
        if (level > 0 && terms.length > 0 && level >= limit) totals.fullTime += length;
        const local = at + offsetAt(at, this.#timeZone);
        const hour = ((Math.floor(local / DAY) + 3) % 7) * 24 + (Math.floor(local / HOUR) % 24);
        totals.slotTimeByHour[hour] = (totals.slotTimeByHour[hour] ?? 0) + level * length;
        totals.observedByHour[hour] = (totals.observedByHour[hour] ?? 0) + length;
        totals.peakByHour[hour] = Math.max(totals.peakByHour[hour] ?? 0, level);
        const day = new Date(local).toISOString().slice(0, 10);
        add(totals.slotTimeByDay, day, level * length);
        const people = totals.peopleByDay.get(day) ?? new Set();
        totals.peopleByDay.set(day, people);
        for (const { person } of held) {
          add(totals.timeByPerson, person, length);
          people.add(person);
        }
      }
      at = next;
    }
  }
}

/** How far the clocks of a zone are ahead of UTC. */
const offsetAt = (at: number, timeZone: string): number =>
  timeZone === "UTC"
    ? 0
    : Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).offsetNanoseconds /
      1e6;

export const poolName = (product: string, feature: string | null): string =>
  JSON.stringify([product, feature]);

const nameOf = (user: string): string => /^.[^#]*/.exec(user)?.[0] ?? user;

function add<K>(sums: Map<K, number>, key: K, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

const listDates = ({ start, validUntil, graceHours, features }: Terms): number[] =>
  [
    start,
    validUntil === null ? null : validUntil + (graceHours ?? 0) * HOUR,
    ...features.map(({ expires }) => expires),
  ].filter((at) => at !== null);

function slotsAt(terms: Terms, feature: string | null, at: number): number {
  const end =
    terms.validUntil === null ? Infinity : terms.validUntil + (terms.graceHours ?? 0) * HOUR;
  if (!terms.enabled || at < (terms.start ?? -Infinity) || at >= end) return 0;
  if (feature === null) return terms.slots;
  const found = terms.features.find(({ code }) => code === feature);
  return at < (found?.expires ?? Infinity) ? (found?.floating?.slots ?? 0) : 0;
}
