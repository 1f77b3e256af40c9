import { limits } from "./limits.ts";
import { countSlotsInUse } from "./slots.ts";
import type { State } from "./state.ts";
import { DAY, instant, later, latest, MINUTE, type Instant } from "./time.ts";

/** How far back somebody looks, and how closely: more steps than a screen has are of no use. */
export const USAGE_RANGES = {
  day: { steps: 288, step: 5 * MINUTE },
  week: { steps: 336, step: 30 * MINUTE },
  month: { steps: 360, step: 120 * MINUTE },
} as const;

export type UsageRange = keyof typeof USAGE_RANGES;

export const isUsageRange = (word: string): word is UsageRange => Object.hasOwn(USAGE_RANGES, word);

/** The finest step there is; those of every span are made of these. */
const STEP = USAGE_RANGES.day.step;
/** As many of them as the longest span has. */
const KEPT_STEPS = (30 * DAY) / STEP;

/** How much was in use, and how often something was refused, step by step; null: nobody knows. */
export interface UsageView {
  readonly from: Instant;
  readonly to: Instant;
  readonly licenses: readonly {
    readonly id: number;
    readonly product: string;
    readonly slots: number;
    readonly inUse: readonly (number | null)[];
  }[];
  readonly refusals: readonly (RefusalKind & { readonly counts: readonly (number | null)[] })[];
}

interface RefusalKind {
  readonly product: string | null;
  readonly code: string;
}

interface RefusalSteps extends RefusalKind {
  readonly steps: Uint32Array;
}

/**
 * The last thirty days in steps of five minutes: the most slots in use at once in each, by license,
 * and the refusals. A ring: as much memory on the last day as on the first.
 */
export class Usage {
  readonly #peaks = new Map<number, Uint32Array>();
  readonly #refusals = new Map<string, RefusalSteps>();
  /** In use at the last look. */
  readonly #seen = new Map<number, number>();
  /** Before that, nothing is known of a license. */
  readonly #unknownBefore = new Map<number, Instant>();
  /** How far each of the state's counters had come; null: not looked at yet. */
  #counted: Map<string, number> | null = null;
  #newest = 0;

  /** What is so now. */
  sample(state: State, now: Instant): void {
    const slept = this.#turn(now);
    for (const { id, pool } of state.licenses.values()) {
      const before = this.#seen.get(id) ?? 0;
      for (const at of slept)
        this.recordSlotsInUse(id, at, later(at, 1), Math.min(before, countSlotsInUse(pool, at)));
      const held = countSlotsInUse(pool, now);
      this.recordSlotsInUse(id, now, later(now, 1), held);
      this.#seen.set(id, held);
    }
    for (const id of this.#peaks.keys()) if (!state.licenses.has(id)) this.#forget(id);
    const counted = new Map<string, number>();
    for (const [key, { product, code, count }] of state.refusals) {
      counted.set(key, count);
      const more = count - (this.#counted?.get(key) ?? 0);
      if (this.#counted !== null && more > 0) this.recordRefusals({ product, code }, now, more);
    }
    this.#counted = counted;
  }

  /** Somebody took or kept a slot of a license: who comes and goes between two looks counts. */
  sampleLicense(state: State, license: number, now: Instant): void {
    const pool = state.licenses.get(license)?.pool;
    if (stepOf(now) !== this.#newest) this.sample(state, now);
    else if (pool !== undefined)
      this.recordSlotsInUse(license, now, later(now, 1), countSlotsInUse(pool, now));
  }

  /** So many slots were in use from one moment until before another. */
  recordSlotsInUse(license: number, from: Instant, to: Instant, slots: number): void {
    if (from >= to) return;
    const steps = this.#peaks.get(license) ?? new Uint32Array(KEPT_STEPS);
    this.#peaks.set(license, steps);
    const last = Math.min(stepOf(instant(to - 1)), this.#newest);
    for (
      let step = Math.max(stepOf(from), this.#newest - KEPT_STEPS + 1);
      step <= last;
      step += 1
    ) {
      steps[step % KEPT_STEPS] = Math.max(steps[step % KEPT_STEPS] ?? 0, slots);
    }
  }

  recordRefusals({ product, code }: RefusalKind, at: Instant, count: number): void {
    const step = stepOf(at);
    if (step <= this.#newest - KEPT_STEPS || step > this.#newest) return;
    const key = JSON.stringify([product, code]);
    let known = this.#refusals.get(key);
    if (known === undefined) {
      if (this.#refusals.size >= limits.refusalTotals) return;
      known = { product, code, steps: new Uint32Array(KEPT_STEPS) };
      this.#refusals.set(key, known);
    }
    known.steps[step % KEPT_STEPS] = (known.steps[step % KEPT_STEPS] ?? 0) + count;
  }

  /** What was before cannot be told any more. */
  markUnknownBefore(license: number, at: Instant): void {
    this.#unknownBefore.set(license, at);
  }

  /** `known`: from when on there is anything to show. */
  view(state: State, span: UsageRange, now: Instant, known: Instant): UsageView {
    this.sample(state, now);
    const { steps, step } = USAGE_RANGES[span];
    const to = instant((Math.floor(now / step) + 1) * step);
    const from = later(to, -steps * step);
    const shown = (of: Uint32Array, since: Instant, all: typeof findPeak) =>
      Array.from({ length: steps }, (_, place) => {
        const begin = later(from, place * step);
        // The last one is under way: the rest of it has its place where the oldest steps are.
        const last = Math.min(stepOf(begin) + step / STEP - 1, this.#newest);
        return later(begin, step) <= since ? null : all(of, stepOf(begin), last);
      });
    const licenses = [...state.licenses.values()].map(({ id, terms }) => {
      const since = latest(known, this.#unknownBefore.get(id) ?? known);
      const inUse = shown(this.#peaks.get(id) ?? new Uint32Array(KEPT_STEPS), since, findPeak);
      return { id, product: terms.product, slots: terms.slots, inUse };
    });
    const refusals = [...this.#refusals.values()]
      .map(({ product, code, steps: of }) => ({
        product,
        code,
        counts: shown(of, known, sumSteps),
      }))
      .map((one) => ({ one, total: one.counts.reduce<number>((all, n) => all + (n ?? 0), 0) }))
      .filter(({ total }) => total > 0)
      .toSorted((a, b) => b.total - a.total)
      .map(({ one }) => one);
    return { from, to, licenses, refusals };
  }

  /**
   * Time went on, or was set back: what has its place in the ring now is of another time. Gives
   * what was slept through: then nobody came, and who was there before left when it was time.
   */
  #turn(now: Instant): Instant[] {
    const step = stepOf(now);
    const before = this.#newest;
    const first = Math.min(step, this.#newest) + 1;
    const last = Math.min(Math.max(step, this.#newest), first + KEPT_STEPS - 1);
    const rings = [...this.#peaks.values(), ...[...this.#refusals.values()].map((r) => r.steps)];
    for (let turned = first; turned <= last; turned += 1) {
      for (const ring of rings) ring[turned % KEPT_STEPS] = 0;
    }
    this.#newest = step;
    if (before === 0 || step <= before + 1) return [];
    const slept = Math.min(step - before - 1, KEPT_STEPS - 1);
    return Array.from({ length: slept }, (_, n) => instant((step - slept + n) * STEP));
  }

  #forget(license: number): void {
    this.#peaks.delete(license);
    this.#seen.delete(license);
    this.#unknownBefore.delete(license);
  }
}

const stepOf = (at: Instant): number => Math.floor(at / STEP);

// The place in the ring is counted on, not worked out anew: a month of many is looked at at once.
function findPeak(steps: Uint32Array, first: number, last: number): number {
  let peak = 0;
  for (let step = first, at = first % KEPT_STEPS; step <= last; step += 1) {
    peak = Math.max(peak, steps[at] ?? 0);
    at = at + 1 === KEPT_STEPS ? 0 : at + 1;
  }
  return peak;
}

function sumSteps(steps: Uint32Array, first: number, last: number): number {
  let total = 0;
  for (let step = first, at = first % KEPT_STEPS; step <= last; step += 1) {
    total += steps[at] ?? 0;
    at = at + 1 === KEPT_STEPS ? 0 : at + 1;
  }
  return total;
}

/** The first moment of the longest span that ends now. */
export const findUsageStart = (now: Instant): Instant => later(now, -KEPT_STEPS * STEP);
