import { describe, expect, test } from "bun:test";
import { checkHistory } from "./check-history.ts";

describe("usage of simulated sites", () => {
  test("equals an independent count, from files, after a rebuild and without files", async () => {
    let [setBacks, checkpoints] = [0, 0];
    for (let seed = 1; seed <= 5; seed += 1) {
      const history = await checkHistory(seed);
      setBacks += history.setBacks;
      checkpoints += history.checkpoints;
    }
    expect([setBacks > 1, checkpoints > 8]).toEqual([true, true]);
  }, 120_000);
});
