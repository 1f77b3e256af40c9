// The rules against a model that was written from the documents alone: slow, naive, and right where
// the rules and it agree. `MODEL_SEEDS=2000 bun test test/model` takes minutes.
import { expect, test } from "bun:test";
import { describeDifference, runSeed, type OutcomeCounts } from "./compare.ts";

const SEEDS = Number(process.env["MODEL_SEEDS"] ?? 10);
const STEPS = 400;
/** A soak plays other sequences each time; a seed that differs is printed. */
const FIRST = Number(process.env["MODEL_FIRST"] ?? 1);

test(
  `the rules and the model agree on ${SEEDS} sequences of ${STEPS} commands`,
  () => {
    const tally: OutcomeCounts = new Map();
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      const run = runSeed(seed, STEPS, tally);
      if (run.difference !== null) throw new Error(describeDifference(seed, run));
    }
    // Refused and granted alike, and more of both than one kind.
    expect([...tally.keys()].length).toBeGreaterThan(40);
    expect([...tally.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(
      SEEDS * STEPS * 0.8,
    );
  },
  SEEDS * 60_000,
);
