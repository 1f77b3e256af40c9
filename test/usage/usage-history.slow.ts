import { describe, expect, test } from "bun:test";
import { chooseSize } from "../support/suite-harness.ts";
import { checkHistory } from "./check-history.ts";

const FIRST = Number(process.env["USAGE_FIRST"] ?? 1);
const SEEDS = Number(process.env["USAGE_SEEDS"] ?? chooseSize(150, 1_000));

describe("usage of many simulated sites", () => {
  test("equals an independent count, from files, after a rebuild and without files", async () => {
    let setBacks = 0;
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      setBacks += (await checkHistory(seed)).setBacks;
    }
    expect(setBacks).toBeGreaterThan(0);
  }, 1_800_000);
});
