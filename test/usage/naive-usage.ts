// An independent count of the usage of a site. It looks at the state after every command: which
// slots are there, until when, and which terms are installed. It never reads the audit log, and it
// counts every step by itself, from all that was seen.
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { State } from "../../src/domain/model/state.ts";
import { HOUR, MINUTE, type Instant } from "../../src/domain/time.ts";

const STEP = 5 * MINUTE;

interface SeenSlot {
  readonly pool: string;
  readonly slot: number;
  readonly firstPeriod: number;
  readonly start: number;
  lastPeriod: number;
  /** When it ends, as it was last seen. */
  end: number;
  isGone: boolean;
}

/** Nothing changed between two commands. */
interface Stretch {
  readonly period: number;
  readonly from: number;
  to: number;
  readonly installed: readonly Terms[];
}

interface Period {
  readonly from: number;
  to: number;
  /** A jump forward that was undone by the end of the period. */
  wrongFrom: number | null;
}

interface Counted {
  readonly pool: string;
  readonly at: number;
  readonly figure: "episodes" | "consumed";
  readonly count: number;
}

export interface NaiveStep {
  readonly peak: number;
  readonly slotTime: number;
  readonly fullTime: number;
  readonly waiting: number;
  readonly episodes: number;
  readonly consumed: number;
  readonly limit: number | null;
  readonly observed: number;
}

export const poolName = (product: string, feature: string | null): string =>
  JSON.stringify([product, feature]);

/** Places have numbers of the same sequence as slots: a queue is counted like a pool. */
const queueOf = (pool: string): string => `queue of ${pool}`;

export class NaiveUsage {
  readonly #slots: SeenSlot[] = [];
  readonly #stretches: Stretch[] = [];
  readonly #periods: Period[] = [];
  readonly #counted: Counted[] = [];
  readonly #jumps: { readonly period: number; readonly from: number; readonly to: number }[] = [];

  /** The first command was executed. */
  constructor(state: State, at: Instant) {
    this.#periods.push({ from: at, to: at, wrongFrom: null });
    this.observe(state, at);
  }

  get pools(): string[] {
    const names = this.#stretches.flatMap(({ installed }) =>
      installed.flatMap(({ product, features }) => [
        poolName(product, null),
        ...features.map(({ code }) => poolName(product, code)),
      ]),
    );
    const seen = this.#slots.map(({ pool }) => pool).filter((pool) => !pool.startsWith("queue"));
    return [...new Set([...names, ...seen])];
  }

  get #period(): number {
    return this.#periods.length - 1;
  }

  /** A command was executed. */
  observe(state: State, at: Instant): void {
    const period = this.#periods.at(-1);
    const stretch = this.#stretches.at(-1);
    if (period !== undefined) period.to = at;
    if (stretch !== undefined && stretch.period === this.#period) stretch.to = at;
    const installed = [...state.licenses.values()].map(({ terms }) => terms);
    this.#stretches.push({ period: this.#period, from: at, to: at, installed });
    const present = new Map<number, { readonly pool: string; readonly end: number }>();
    for (const { terms, pool, features } of state.licenses.values()) {
      for (const { slot, end } of pool.inSlotOrder())
        present.set(slot, { pool: poolName(terms.product, null), end });
      for (const [code, feature] of features) {
        for (const { slot, end } of feature.pool.inSlotOrder())
          present.set(slot, { pool: poolName(terms.product, code), end });
      }
    }
    for (const queue of state.queues) {
      const pool = queueOf(poolName(queue.product, null));
      for (const { number } of queue.places) present.set(number, { pool, end: Infinity });
    }
    for (const seen of this.#slots.filter(({ isGone }) => !isGone)) {
      const now = present.get(seen.slot);
      present.delete(seen.slot);
      seen.lastPeriod = this.#period;
      seen.isGone = now === undefined;
      seen.end = now === undefined ? Math.min(seen.end, at) : now.end;
    }
    for (const [slot, { pool, end }] of present) {
      const [firstPeriod, lastPeriod] = [this.#period, this.#period];
      this.#slots.push({ pool, slot, firstPeriod, start: at, lastPeriod, end, isGone: false });
    }
  }

  jump(from: Instant, to: Instant): void {
    this.#jumps.push({ period: this.#period, from, to });
  }

  /** The clock was set back, after `observe` at the time before. */
  setBack(from: Instant, to: Instant): void {
    const period = this.#periods.at(-1);
    const stretch = this.#stretches.at(-1);
    const undone = this.#jumps.filter((jump) => jump.period === this.#period && jump.to > to);
    if (period !== undefined) period.to = from;
    if (stretch !== undefined) stretch.to = from;
    if (period !== undefined && undone.length > 0)
      period.wrongFrom = Math.min(...undone.map((jump) => jump.from));
    this.#periods.push({ from: to, to, wrongFrom: null });
  }

  count(pool: string, at: number, figure: Counted["figure"], count: number): void {
    this.#counted.push({ pool, at, figure, count });
  }

  /** The steps in which anything can have happened, as numbers since 1970. */
  listSteps(): number[] {
    const steps = new Set<number>();
    const addRange = (from: number, to: number): void => {
      for (let step = Math.floor(from / STEP); step * STEP <= to; step += 1) steps.add(step);
    };
    for (const { period, from, to, installed } of this.#stretches) {
      addRange(from, from);
      addRange(to, to);
      for (const at of listDates(installed)) if (at > from && at < to) addRange(at, at);
      for (const slot of this.#slots) {
        if (period < slot.firstPeriod || period > slot.lastPeriod) continue;
        const start = period === slot.firstPeriod ? Math.max(slot.start, from) : from;
        const end = period === slot.lastPeriod ? Math.min(slot.end, to) : to;
        if (start < end) addRange(start, end);
      }
    }
    for (const { at } of this.#counted) steps.add(Math.floor(at / STEP));
    return [...steps];
  }

  /** Everything about one step of one pool, period by period, from instant to instant. */
  countStep(pool: string, step: number): NaiveStep {
    const [from, to] = [step * STEP, (step + 1) * STEP];
    let [peak, slotTime, fullTime, waiting, observed] = [0, 0, 0, 0, 0];
    let limit: number | null = null;
    for (const [index, period] of this.#periods.entries()) {
      const start = Math.max(from, period.from);
      const end = Math.min(to, period.to);
      if (start >= end) continue;
      observed += end - start;
      const ofPool = this.#slots.filter((s) => s.pool === pool);
      const places = this.#slots.filter((s) => s.pool === queueOf(pool));
      const instants = this.#listInstants([...ofPool, ...places], index, start, end);
      for (const [n, at] of instants.entries()) {
        const length = (instants[n + 1] ?? end) - at;
        const inUse = ofPool.filter((slot) => this.#isHeld(slot, index, at));
        const slots = this.#findLimit(pool, index, at);
        peak = Math.max(peak, inUse.length);
        const inQueue = places.filter((place) => this.#isHeld(place, index, at));
        waiting = Math.max(waiting, inQueue.length);
        slotTime += inUse.length * length;
        if (slots !== null) limit = Math.max(limit ?? 0, slots);
        if (slots !== null && inUse.length > 0 && inUse.length >= slots) fullTime += length;
      }
    }
    const sum = (figure: Counted["figure"]): number =>
      this.#counted
        .filter((c) => c.pool === pool && c.figure === figure && c.at >= from && c.at < to)
        .reduce((all, { count }) => all + count, 0);
    const counted = { episodes: sum("episodes"), consumed: sum("consumed") };
    return { peak, slotTime, fullTime, waiting, ...counted, limit, observed };
  }

  /** All instants at which anything may change. */
  #listInstants(slots: readonly SeenSlot[], period: number, start: number, end: number): number[] {
    const instants = new Set([start]);
    const add = (at: number): void => {
      if (at > start && at < end) instants.add(at);
    };
    add(this.#periods[period]?.wrongFrom ?? start);
    for (const slot of slots) {
      add(slot.start);
      add(slot.end);
    }
    for (const stretch of this.#stretches) {
      if (stretch.period !== period || stretch.to < start || stretch.from > end) continue;
      add(stretch.from);
      listDates(stretch.installed).forEach(add);
    }
    return [...instants].toSorted((a, b) => a - b);
  }

  #isHeld(slot: SeenSlot, period: number, at: number): boolean {
    if (period < slot.firstPeriod || period > slot.lastPeriod) return false;
    const isFirst = period === slot.firstPeriod;
    if (isFirst && at < slot.start) return false;
    if (period === slot.lastPeriod) return at < slot.end;
    const { from = 0, wrongFrom = null } = this.#periods[period] ?? {};
    const start = isFirst ? slot.start : from;
    return wrongFrom === null || start > wrongFrom || at < wrongFrom;
  }

  /** The slots of the licenses that were installed and valid; null: none was installed. */
  #findLimit(pool: string, period: number, at: number): number | null {
    const stretch = this.#stretches.findLast(
      (other) => other.period === period && other.from <= at && at < other.to,
    );
    let limit: number | null = null;
    for (const terms of stretch?.installed ?? []) {
      for (const { name, slots, dates } of listPools(terms)) {
        if (name !== pool) continue;
        const isValid = terms.enabled && at >= dates.start && at < dates.end;
        limit = (limit ?? 0) + (isValid ? slots : 0);
      }
    }
    return limit;
  }
}

function listPools(terms: Terms) {
  const start: number = terms.start ?? -Infinity;
  const end =
    terms.validUntil === null ? Infinity : terms.validUntil + (terms.graceHours ?? 0) * HOUR;
  return [
    { name: poolName(terms.product, null), slots: terms.slots, dates: { start, end } },
    ...terms.features.flatMap(({ code, floating, expires }) => {
      if (floating === null) return [];
      const dates = { start, end: Math.min(end, expires ?? Infinity) };
      return [{ name: poolName(terms.product, code), slots: floating.slots, dates }];
    }),
  ];
}

const listDates = (installed: readonly Terms[]): number[] =>
  installed.flatMap((terms) => listPools(terms).flatMap(({ dates }) => [dates.start, dates.end]));
