// Compares the rules with a slow and simple model that was written from the documentation alone.
import { expect, test } from "bun:test";
import { chooseSize } from "../support/suite-harness.ts";
import { describeDifference, runSeed, type OutcomeCounts } from "./compare.ts";

const SEEDS = Number(process.env["MODEL_SEEDS"] ?? chooseSize(10, 2_000));
const STEPS = 400;
/** A soak test starts at another seed each time; a seed that differs is printed. */
const FIRST_SEED = Number(process.env["MODEL_FIRST"] ?? 1);

test(
  "the rules and the model agree on random sequences of commands",
  () => {
    const outcomeCounts: OutcomeCounts = new Map();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const run = runSeed(seed, STEPS, outcomeCounts);
      if (run.difference !== null) throw new Error(describeDifference(seed, run));
    }
    // Both grants and refusals, of many kinds.
    expect([...outcomeCounts.keys()].length).toBeGreaterThan(40);
    expect([...outcomeCounts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(
      SEEDS * STEPS * 0.8,
    );
  },
  SEEDS * 60_000,
);
