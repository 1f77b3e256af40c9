import { describe, expect, test } from "bun:test";
import { canSetClockFreely } from "../../src/domain/clock.ts";
import type { Terms } from "../../src/domain/terms.ts";
import { later, DAY } from "../../src/domain/time.ts";
import {
  counting,
  feature,
  given,
  installed,
  MONDAY,
  register,
  replayed,
} from "../support/scenario.ts";

const TOMORROW = later(MONDAY, DAY);

const lent = (terms: Partial<Terms>): boolean =>
  canSetClockFreely(
    replayed(
      given(installed(1, { borrowHours: null, ...terms }))
        .at(TOMORROW)
        .did(register("ada")).events,
    ),
  );

describe("after a slot was lent, the clock is free to run back", () => {
  test("for a license that knows no date at all", () => {
    expect(lent({})).toBe(true);
    expect(lent({ consumption: counting({}), features: [feature("mesh")] })).toBe(true);
  });

  test.each<[string, Partial<Terms>]>([
    ["an end", { validUntil: later(TOMORROW, DAY) }],
    ["a beginning", { start: MONDAY }],
    ["a total that resets", { consumption: counting({ period: "daily" }) }],
    ["a feature that ends", { features: [feature("mesh", { expires: later(TOMORROW, DAY) })] }],
    [
      "a feature's total that resets",
      { features: [feature("plot", { consumption: counting({ period: "monthly" }) })] },
    ],
    ["slots that can be borrowed", { borrowHours: 1 }],
  ])("and not for one with %s", (_what, terms) => {
    expect(lent(terms)).toBe(false);
  });
});
