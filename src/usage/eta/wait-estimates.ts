import { DAY } from "../../domain/time.ts";
import { probabilityOfAtLeast } from "./count-probability.ts";
import { countFreedSlots, type CountGrid, type SlotGroup } from "./freed-slots.ts";
import { SessionLengthCurve, type KnownSessions } from "./session-length-curve.ts";

/** Fewer recorded sessions say too little. */
const MIN_SESSIONS = 20;

/** Sessions of more different ages are put into so many groups. */
const MAX_GROUPS = 24;

/** Grids of different lengths, as multiples of the mean session: short waits need short steps. */
const HORIZONS = [1 / 64, 1 / 16, 1 / 4, 1, 4, 16];

/** Estimates are computed for each position up to this one, and then at growing distances. */
const EACH_POSITION = 32;
const POSITION_RATIO = 1.125;

/** A longer wait is not worth a number. */
const LONGEST_WAIT = 365 * DAY;

/**
 * How long a user probably waits for a slot, in milliseconds from the instant of the estimate: half
 * of all waits end before `p50`, nine of ten before `p90`.
 */
interface WaitEstimate {
  readonly p50: number;
  readonly p90: number;
}

export interface SlotsInUse extends KnownSessions {
  /** Granted slots that are not collected yet: their sessions begin now. */
  readonly heldCount: number;
}

/**
 * How long users wait for a slot of one product, as seen at one instant. It depends on nothing but
 * how long sessions were, and how long those last that hold the slots now. Borrowed slots are in
 * neither: they count as slots that do not come free.
 */
export class WaitEstimates {
  readonly #curve: SessionLengthCurve;
  readonly #groups: readonly SlotGroup[];
  /** By index in `HORIZONS`, made when it is needed. */
  readonly #grids: (CountGrid | undefined)[] = [];
  readonly #byPosition = new Map<number, WaitEstimate | null>();
  /** The relative error of the mean length that so few recorded sessions cause, squared. */
  readonly #uncertainty: number;

  /** Null: too few sessions have ended, or no slot can come free. */
  static prepare(slots: SlotsInUse): WaitEstimates | null {
    const hasSlots = slots.runningCount + slots.heldCount > 0;
    return slots.endedCount < MIN_SESSIONS || !hasSlots ? null : new WaitEstimates(slots);
  }

  private constructor(slots: SlotsInUse) {
    this.#curve = new SessionLengthCurve(slots);
    this.#groups = groupByAge(slots);
    this.#uncertainty = this.#curve.variation ** 2 / Math.max(1, slots.ended.length);
  }

  /**
   * The wait until so many slots have come free; 1: the next one. Null: it is not worth a number.
   */
  estimate(position: number): WaitEstimate | null {
    const [below, above] = findComputedPositions(position);
    const lower = this.#compute(below);
    if (above === below || lower === null) return lower;
    const upper = this.#compute(above);
    if (upper === null) return null;
    const share = (position - below) / (above - below);
    return {
      p50: Math.round(lower.p50 + share * (upper.p50 - lower.p50)),
      p90: Math.round(lower.p90 + share * (upper.p90 - lower.p90)),
    };
  }

  #compute(position: number): WaitEstimate | null {
    const known = this.#byPosition.get(position);
    if (known !== undefined) return known;
    const [p50, p90] = [this.#findWait(position, 0.5), this.#findWait(position, 0.9)];
    const estimate = p50 === null || p90 === null ? null : { p50, p90 };
    this.#byPosition.set(position, estimate);
    return estimate;
  }

  /** The time within which so many slots come free with this probability. */
  #findWait(position: number, probability: number): number | null {
    const last = HORIZONS.length - 1;
    for (const [index, multiple] of HORIZONS.entries()) {
      const horizon = multiple * this.#curve.meanLength;
      if (index < last && this.#countFirstEnds(horizon) < position / 4) continue;
      const grid = (this.#grids[index] ??= countFreedSlots(this.#curve, this.#groups, horizon));
      const isReached = (time: number): boolean =>
        this.#probabilityOf(position, grid, time) >= probability;
      if (isReached(horizon)) return bisect(0, horizon, isReached);
      if (index === last && isReached(LONGEST_WAIT)) {
        return bisect(horizon, LONGEST_WAIT, isReached);
      }
    }
    return null;
  }

  /** How many of the present sessions probably end within a time. */
  #countFirstEnds(time: number): number {
    let count = 0;
    for (const { elapsed, slots } of this.#groups) {
      count += slots * this.#curve.endsWithin(elapsed, time);
    }
    return count;
  }

  #probabilityOf(
    position: number,
    { stepLength, mean, variance }: CountGrid,
    time: number,
  ): number {
    // For the next slot, mean and variance are not needed.
    if (position <= 1) return 1 - this.#probabilityOfNone(time);
    const expected = interpolate(mean, time / stepLength);
    const spread = interpolate(variance, time / stepLength) + expected ** 2 * this.#uncertainty;
    return probabilityOfAtLeast(position, expected, spread);
  }

  #probabilityOfNone(time: number): number {
    let probability = 1;
    for (const { elapsed, slots } of this.#groups) {
      probability *= (1 - this.#curve.endsWithin(elapsed, time)) ** slots;
    }
    return probability;
  }
}

/**
 * The positions between which an estimate is interpolated. Waits grow evenly in a long queue, and
 * thousands of users may want to know theirs: about a hundred positions are computed.
 */
function findComputedPositions(position: number): readonly [below: number, above: number] {
  if (position <= EACH_POSITION) return [position, position];
  const power = Math.floor(Math.log(position / EACH_POSITION) / Math.log(POSITION_RATIO));
  const numberOf = (exponent: number): number =>
    Math.round(EACH_POSITION * POSITION_RATIO ** exponent);
  const below = Math.min(position, numberOf(power));
  return [below, Math.max(position, numberOf(power + 1))];
}

/** Between two steps on the straight line; after the last one on the line of the last quarter. */
function interpolate(values: Float64Array, step: number): number {
  const last = values.length - 1;
  const index = Math.min(Math.floor(step), last);
  if (index < last) {
    const [from, to] = [values[index] ?? 0, values[index + 1] ?? 0];
    return from + (to - from) * (step - index);
  }
  const quarter = Math.floor(last / 4);
  const slope = ((values[last] ?? 0) - (values[last - quarter] ?? 0)) / quarter;
  return (values[last] ?? 0) + Math.max(0, slope) * (step - last);
}

/** The smallest time for which `isReached` holds, if it holds for all later ones. */
function bisect(from: number, to: number, isReached: (time: number) => boolean): number {
  let [low, high] = [from, to];
  while (high - low > Math.max(1, high / 500)) {
    const middle = (low + high) / 2;
    if (isReached(middle)) high = middle;
    else low = middle;
  }
  return Math.ceil(high);
}

/** Sessions of nearly the same age together; each group stands for equally many slots. */
function groupByAge({ running, runningCount, heldCount }: SlotsInUse): SlotGroup[] {
  const groups: SlotGroup[] = heldCount > 0 ? [{ elapsed: 0, slots: heldCount }] : [];
  const count = Math.min(MAX_GROUPS, running.length);
  for (let index = 0; index < count; index += 1) {
    const from = Math.floor((index * running.length) / count);
    const to = Math.floor(((index + 1) * running.length) / count);
    const elapsed = running[(from + to) >>> 1] ?? running[from] ?? 0;
    groups.push({ elapsed, slots: ((to - from) * runningCount) / running.length });
  }
  return groups;
}
