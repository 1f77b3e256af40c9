// Two hosts with the leadership of the product, a simulated log and random faults: pauses, lost and
// late statements, kills, stops, hand-overs, and jumps of the log's clock.
import { expect, test } from "bun:test";
import { chooseSize } from "../support/suite-harness.ts";
import { silenceLog } from "./silence-log.ts";
import { simulatePair } from "./simulate-pair.ts";

const SEEDS = Number(process.env["ELECTION_SEEDS"] ?? chooseSize(400, 10_000));
const FIRST = Number(process.env["ELECTION_FIRST"] ?? 1);

test("two hosts never answer at the same time, lose nothing, and one leads again after all faults", async () => {
  silenceLog();
  const sums = { acknowledged: 0, leaders: 0 };
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const { problem, acknowledged, leaders } = await simulatePair(seed);
    expect({ seed, problem }).toEqual({ seed, problem: null });
    sums.acknowledged += acknowledged;
    sums.leaders += leaders;
  }
  // Enough happened for the result to mean something.
  if (SEEDS < 100) return;
  expect(sums.acknowledged / SEEDS).toBeGreaterThan(30);
  expect(sums.leaders / SEEDS).toBeGreaterThan(2);
});
