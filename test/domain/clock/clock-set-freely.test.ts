import { describe, expect, test } from "bun:test";
import { canSetClockFreely } from "../../../src/domain/clock/clock.ts";
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import { later, DAY } from "../../../src/domain/time.ts";
import {
  consumptionTerms,
  featureTerms,
  given,
  licenseInstalled,
  MONDAY,
  register,
  replayEvents,
} from "../../support/scenario.ts";

const TOMORROW = later(MONDAY, DAY);

const isFreeAfterRegistration = (terms: Partial<Terms>): boolean =>
  canSetClockFreely(
    replayEvents(
      given(licenseInstalled(1, { borrowHours: null, ...terms }))
        .at(TOMORROW)
        .execute(register("ada")).events,
    ),
  );

describe("canSetClockFreely after a registration", () => {
  test("is true for a license without any date", () => {
    expect(isFreeAfterRegistration({})).toBe(true);
    expect(
      isFreeAfterRegistration({
        consumption: consumptionTerms({}),
        features: [featureTerms("mesh")],
      }),
    ).toBe(true);
  });

  test.each<[string, Partial<Terms>]>([
    ["an end", { validUntil: later(TOMORROW, DAY) }],
    ["a start", { start: MONDAY }],
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
  ])("is false for a license with %s", (_what, terms) => {
    expect(isFreeAfterRegistration(terms)).toBe(false);
  });
});
