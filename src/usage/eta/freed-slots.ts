import type { SessionLengthCurve } from "./session-length-curve.ts";

/** Steps of a grid of time. */
const STEPS = 128;

/** Slots whose sessions last equally long already. */
export interface SlotGroup {
  readonly elapsed: number;
  readonly slots: number;
}

/** Mean and variance of a count at each step of a grid; the first one is now, when it is 0. */
export interface CountGrid {
  readonly stepLength: number;
  readonly mean: Float64Array;
  readonly variance: Float64Array;
}

/**
 * How many slots come free from now until each step of a grid that ends at `horizon`. A slot that
 * came free is taken at once by the next user who waits, so it may come free again.
 */
export function countFreedSlots(
  curve: SessionLengthCurve,
  groups: readonly SlotGroup[],
  horizon: number,
): CountGrid {
  const stepLength = horizon / STEPS;
  const fresh = listEnds(curve, 0, stepLength);
  const renewals = renew(fresh, () => 1);
  const squares = renew(fresh, (step) => 1 + 2 * (renewals[step] ?? 0));
  const afterFirst = renewals.map((value) => 1 + value);
  const squareAfterFirst = squares.map((value, step) => 1 + 2 * (renewals[step] ?? 0) + value);
  const ends = new Float64Array(STEPS + 1);
  const squaredMeans = new Float64Array(STEPS + 1);
  for (const { elapsed, slots } of groups) {
    const ofSlot = listEnds(curve, elapsed, stepLength);
    const means = convolve(ofSlot, afterFirst);
    for (let step = 1; step <= STEPS; step += 1) {
      ends[step] = (ends[step] ?? 0) + slots * (ofSlot[step] ?? 0);
      squaredMeans[step] = (squaredMeans[step] ?? 0) + slots * (means[step] ?? 0) ** 2;
    }
  }
  const mean = convolve(ends, afterFirst);
  const variance = convolve(ends, squareAfterFirst).map((square, step) =>
    Math.max(0, square - (squaredMeans[step] ?? 0)),
  );
  return { stepLength, mean, variance };
}

/** The probability that a session ends in each step; the first entry stands for no time. */
function listEnds(curve: SessionLengthCurve, elapsed: number, stepLength: number): Float64Array {
  const ends = new Float64Array(STEPS + 1);
  let before = 0;
  for (let step = 1; step <= STEPS; step += 1) {
    const until = curve.endsWithin(elapsed, step * stepLength);
    ends[step] = until - before;
    before = until;
  }
  return ends;
}

/** For each step: the sum over all ends before it of `values` in the time that is left then. */
function convolve(ends: Float64Array, values: Float64Array): Float64Array {
  const result = new Float64Array(STEPS + 1);
  for (let step = 1; step <= STEPS; step += 1) {
    let sum = 0;
    for (let end = 1; end <= step; end += 1) {
      // An end within a step: on average half of it is left.
      sum += ((ends[end] ?? 0) * ((values[step - end] ?? 0) + (values[step - end + 1] ?? 0))) / 2;
    }
    result[step] = sum;
  }
  return result;
}

/** The same for sessions that follow each other: the sum contains itself. */
function renew(ends: Float64Array, known: (step: number) => number): Float64Array {
  const result = new Float64Array(STEPS + 1);
  const total = new Float64Array(STEPS + 1);
  total[0] = known(0);
  const first = ends[1] ?? 0;
  for (let step = 1; step <= STEPS; step += 1) {
    let sum = 0;
    for (let end = 2; end <= step; end += 1) {
      sum += ((ends[end] ?? 0) * ((total[step - end] ?? 0) + (total[step - end + 1] ?? 0))) / 2;
    }
    const knownNow = known(step);
    sum += (first * ((total[step - 1] ?? 0) + knownNow)) / 2;
    const value = sum / (1 - first / 2);
    result[step] = value;
    total[step] = knownNow + value;
  }
  return result;
}
