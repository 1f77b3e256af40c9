// The same as sharing.test.ts, with more sequences.
import { expect, test } from "bun:test";
import { chooseSize } from "../support/suite-harness.ts";
import { runSeeds } from "./run-seeds.ts";

const SEQUENCES = Number(process.env["SHARING_SEQUENCES"] ?? chooseSize(1_000, 100_000));
/** Other seeds than those of the short test. */
const FIRST_SEED = Number(process.env["SHARING_FIRST"] ?? 10_001);

test(
  "the rules of sharing and a naive model decide alike on thousands of rule sets",
  () => {
    const counts = runSeeds(FIRST_SEED, SEQUENCES, 40);
    const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
    console.log(sorted.map(([kind, count]) => `${count} ${kind}`).join("\n"));
    expect(counts.size).toBeGreaterThan(30);
  },
  SEQUENCES * 1_000,
);
