import { limits } from "../domain/limits.ts";
import { countSlotsInUse } from "../domain/slots/slots.ts";
import type { State } from "../domain/state.ts";
import { DAY, instant, later, latest, MINUTE, type Instant } from "../domain/time.ts";

/**
 * The ranges a reader can choose, and their resolution: more steps than a screen shows are useless.
 */
export const USAGE_RANGES = {
  day: { steps: 288, step: 5 * MINUTE },
  week: { steps: 336, step: 30 * MINUTE },
  month: { steps: 360, step: 120 * MINUTE },
} as const;

export type UsageRange = keyof typeof USAGE_RANGES;

export const isUsageRange = (text: string): text is UsageRange => Object.hasOwn(USAGE_RANGES, text);

/** The finest step; the steps of every range are multiples of it. */
const STEP = USAGE_RANGES.day.step;
/** The number of finest steps in the longest range. */
const KEPT_STEPS = (30 * DAY) / STEP;

/** Slots in use and refusals, step by step; null: unknown. */
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
  readonly feature: string | null;
  readonly code: string;
}

interface RefusalSteps extends RefusalKind {
  readonly steps: Uint32Array;
}

/**
 * The last thirty days in steps of five minutes: the peak of slots in use, by license, and the
 * refusals. Stored in ring buffers of constant size.
 */
export class Usage {
  readonly #peaks = new Map<number, Uint32Array>();
  readonly #refusals = new Map<string, RefusalSteps>();
  /** Slots in use at the last sample, by license. */
  readonly #lastInUse = new Map<number, number>();
  /** Before this instant, nothing is known about a license. */
  readonly #unknownBefore = new Map<number, Instant>();
  /** The refusal counts of the state at the last sample; null: not sampled yet. */
  #lastRefusals: Map<string, number> | null = null;
  #newestStep = 0;

  /** Records the current state. */
  sample(state: State, now: Instant): void {
    const skippedSteps = this.#moveTo(now);
    for (const { id, pool } of state.licenses.values()) {
      const before = this.#lastInUse.get(id) ?? 0;
      for (const at of skippedSteps)
        this.recordSlotsInUse(id, at, later(at, 1), Math.min(before, countSlotsInUse(pool, at)));
      const inUse = countSlotsInUse(pool, now);
      this.recordSlotsInUse(id, now, later(now, 1), inUse);
      this.#lastInUse.set(id, inUse);
    }
    for (const id of this.#peaks.keys()) if (!state.licenses.has(id)) this.#dropLicense(id);
    const counts = new Map<string, number>();
    for (const [key, { product, feature, code, count }] of state.refusals) {
      counts.set(key, count);
      const added = count - (this.#lastRefusals?.get(key) ?? 0);
      if (this.#lastRefusals !== null && added > 0)
        this.recordRefusals({ product, feature, code }, now, added);
    }
    this.#lastRefusals = counts;
  }

  /** A slot of a license was taken or renewed: slots held only between two samples count too. */
  sampleLicense(state: State, license: number, now: Instant): void {
    const pool = state.licenses.get(license)?.pool;
    if (stepOf(now) !== this.#newestStep) this.sample(state, now);
    else if (pool !== undefined)
      this.recordSlotsInUse(license, now, later(now, 1), countSlotsInUse(pool, now));
  }

  /** Records that `slots` slots were in use from `from` until before `to`. */
  recordSlotsInUse(license: number, from: Instant, to: Instant, slots: number): void {
    if (from >= to) return;
    let steps = this.#peaks.get(license);
    if (steps === undefined) this.#peaks.set(license, (steps = new Uint32Array(KEPT_STEPS)));
    const last = Math.min(stepOf(instant(to - 1)), this.#newestStep);
    for (
      let step = Math.max(stepOf(from), this.#newestStep - KEPT_STEPS + 1);
      step <= last;
      step += 1
    ) {
      steps[step % KEPT_STEPS] = Math.max(steps[step % KEPT_STEPS] ?? 0, slots);
    }
  }

  recordRefusals({ product, feature, code }: RefusalKind, at: Instant, count: number): void {
    const step = stepOf(at);
    if (step <= this.#newestStep - KEPT_STEPS || step > this.#newestStep) return;
    const key = JSON.stringify([product, feature, code]);
    let entry = this.#refusals.get(key);
    if (entry === undefined) {
      if (this.#refusals.size >= limits.refusalTotals) return;
      entry = { product, feature, code, steps: new Uint32Array(KEPT_STEPS) };
      this.#refusals.set(key, entry);
    }
    entry.steps[step % KEPT_STEPS] = (entry.steps[step % KEPT_STEPS] ?? 0) + count;
  }

  /** Usage of the license before `at` is unknown. */
  markUnknownBefore(license: number, at: Instant): void {
    this.#unknownBefore.set(license, at);
  }

  /** `knownFrom`: the instant from which usage is known. */
  view(state: State, range: UsageRange, now: Instant, knownFrom: Instant): UsageView {
    this.sample(state, now);
    const { steps, step } = USAGE_RANGES[range];
    const to = instant((Math.floor(now / step) + 1) * step);
    const from = later(to, -steps * step);
    const buildSeries = (ring: Uint32Array, since: Instant, combine: typeof findPeak) =>
      Array.from({ length: steps }, (_, index) => {
        const start = later(from, index * step);
        // The last step is still running: the rest of its ring positions belongs to the oldest
        // steps.
        const last = Math.min(stepOf(start) + step / STEP - 1, this.#newestStep);
        return later(start, step) <= since ? null : combine(ring, stepOf(start), last);
      });
    const licenses = [...state.licenses.values()].map(({ id, terms }) => {
      const since = latest(knownFrom, this.#unknownBefore.get(id) ?? knownFrom);
      const inUse = buildSeries(
        this.#peaks.get(id) ?? new Uint32Array(KEPT_STEPS),
        since,
        findPeak,
      );
      return { id, product: terms.product, slots: terms.slots, inUse };
    });
    const refusals = [...this.#refusals.values()]
      .map(({ product, feature, code, steps: ring }) => ({
        product,
        feature,
        code,
        counts: buildSeries(ring, knownFrom, sumSteps),
      }))
      .map((series) => ({
        series,
        total: series.counts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
      }))
      .filter(({ total }) => total > 0)
      .toSorted((a, b) => b.total - a.total)
      .map(({ series }) => series);
    return { from, to, licenses, refusals };
  }

  /**
   * Moves the ring to a new time, forward or back, and clears the positions that now mean another
   * time. Returns the steps that were skipped: in those, no slot was taken, and slots ended when
   * they were due.
   */
  #moveTo(now: Instant): Instant[] {
    const step = stepOf(now);
    const before = this.#newestStep;
    const first = Math.min(step, this.#newestStep) + 1;
    const last = Math.min(Math.max(step, this.#newestStep), first + KEPT_STEPS - 1);
    const rings = [...this.#peaks.values(), ...[...this.#refusals.values()].map((r) => r.steps)];
    for (let cleared = first; cleared <= last; cleared += 1) {
      for (const ring of rings) ring[cleared % KEPT_STEPS] = 0;
    }
    this.#newestStep = step;
    if (before === 0 || step <= before + 1) return [];
    const skipped = Math.min(step - before - 1, KEPT_STEPS - 1);
    return Array.from({ length: skipped }, (_, n) => instant((step - skipped + n) * STEP));
  }

  #dropLicense(license: number): void {
    this.#peaks.delete(license);
    this.#lastInUse.delete(license);
    this.#unknownBefore.delete(license);
  }
}

const stepOf = (at: Instant): number => Math.floor(at / STEP);

// The ring position is incremented, not computed for each step: a month has many steps.
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

/** The start of the longest range that ends now. */
export const findUsageStart = (now: Instant): Instant => later(now, -KEPT_STEPS * STEP);
