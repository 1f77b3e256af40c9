import { describe, expect, test } from "bun:test";
import { canSetClockFreely } from "../../src/domain/clock.ts";
import type { Terms } from "../../src/domain/terms.ts";
import { later, DAY } from "../../src/domain/time.ts";
import {
  consumptionTerms,
  featureTerms,
  given,
  licenseInstalled,
  MONDAY,
  register,
  replayEvents,
} from "../support/scenario.ts";

const TOMORROW = later(MONDAY, DAY);

const lent = (terms: Partial<Terms>): boolean =>
  canSetClockFreely(
    replayEvents(
      given(licenseInstalled(1, { borrowHours: null, ...terms }))
        .at(TOMORROW)
        .execute(register("ada")).events,
    ),
  );

describe("after a slot was lent, the clock is free to run back", () => {
  test("for a license that knows no date at all", () => {
    expect(lent({})).toBe(true);
    expect(lent({ consumption: consumptionTerms({}), features: [featureTerms("mesh")] })).toBe(
      true,
    );
  });

  test.each<[string, Partial<Terms>]>([
    ["an end", { validUntil: later(TOMORROW, DAY) }],
    ["a beginning", { start: MONDAY }],
    ["a total that resets", { consumption: consumptionTerms({ period: "daily" }) }],
    [
      "a feature that ends",
      { features: [featureTerms("mesh", { expires: later(TOMORROW, DAY) })] },
    ],
    [
      "a feature's total that resets",
      {
        features: [featureTerms("plot", { consumption: consumptionTerms({ period: "monthly" }) })],
      },
    ],
    ["slots that can be borrowed", { borrowHours: 1 }],
  ])("and not for one with %s", (_what, terms) => {
    expect(lent(terms)).toBe(false);
  });
});
