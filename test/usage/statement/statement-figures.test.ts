import { expect, test } from "bun:test";
import { StatementHistory } from "../statement-history.ts";

test("statement figures of 15 simulated sites equal an independent count", async () => {
  let setBacks = 0;
  for (let seed = 1; seed <= 15; seed += 1) {
    const history = await StatementHistory.run(seed, 60);
    const { actual, expected } = await history.compare();
    expect({ seed, ...actual }).toEqual({ seed, ...expected });
    setBacks += history.setBacks;
  }
  expect(setBacks).toBeGreaterThan(0);
}, 120_000);
