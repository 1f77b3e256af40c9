import { expect, test } from "bun:test";
import { silenceLog } from "./silence-log.ts";
import { simulatePair } from "./simulate-pair.ts";

test("a few runs of two hosts with random faults keep what a pair promises", async () => {
  silenceLog();
  for (let seed = 1; seed <= 20; seed += 1) {
    const { problem, acknowledged } = await simulatePair(seed);
    expect({ seed, problem }).toEqual({ seed, problem: null });
    expect(acknowledged).toBeGreaterThan(0);
  }
});

test("a run is the same with the same seed", async () => {
  silenceLog();
  expect(await simulatePair(7)).toEqual(await simulatePair(7));
});
