// Compares the rules of sharing and the queue with a naive model, on random rule sets and calls.
// `SHARING_FIRST=SEED SHARING_SEQUENCES=1 bun test test/sharing/sharing.test.ts` repeats one seed.
import { expect, test } from "bun:test";
import { SeededRandom } from "../support/seeded-random.ts";
import { generateSequence } from "./generate.ts";
import { shuffleRuleFile } from "./rule-file.ts";
import { SequenceRun } from "./run-sequence.ts";
import { runSeeds } from "./run-seeds.ts";

const SEQUENCES = Number(process.env["SHARING_SEQUENCES"] ?? 40);
const FIRST_SEED = Number(process.env["SHARING_FIRST"] ?? 1);
const STEPS = 40;

test("the rules of sharing and a naive model decide alike, and keep every promise", () => {
  const counts = runSeeds(FIRST_SEED, SEQUENCES, STEPS);
  // Grants and refusals of all kinds, and waiting users.
  if (SEQUENCES >= 40) expect([...counts.keys()].length).toBeGreaterThan(30);
});

test("rules in another order decide alike", () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + 8; seed += 1) {
    const sequence = generateSequence(new SeededRandom(seed), STEPS);
    const random = new SeededRandom(seed + 1);
    const shuffled = new SequenceRun((file) => shuffleRuleFile(file, random));
    expect(shuffled.run(sequence)).toEqual(new SequenceRun().run(sequence));
  }
});
