import { expect, test } from "bun:test";
import { chooseSize } from "../../support/suite-harness.ts";
import { StatementHistory } from "../statement-history.ts";

const FIRST = Number(process.env["USAGE_FIRST"] ?? 1);
const SEEDS = Number(process.env["USAGE_SEEDS"] ?? chooseSize(150, 1_000));

test("statement figures of many simulated sites equal an independent count", async () => {
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const { actual, expected } = await (await StatementHistory.run(seed, 60)).compare();
    expect({ seed, ...actual }).toEqual({ seed, ...expected });
  }
}, 1_800_000);
