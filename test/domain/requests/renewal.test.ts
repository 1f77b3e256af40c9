import { describe, test } from "bun:test";
import {
  justBefore,
  consume,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  given,
  hoursLater,
  install,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  slotTaken,
  utc,
  noFreeSlot,
} from "../../support/scenario.ts";

const slotTakenOn = (license: number) => ({ type: "SlotTaken", license }) as const;

describe("renewing a license", () => {
  const threeTaken = given(
    licenseInstalled(1, { slots: 3 }),
    slotTaken("ada", { slot: 1, end: minutesLater(20) }),
    slotTaken("bob", { slot: 2, end: minutesLater(25) }),
    slotTaken("eve", { slot: 3, end: minutesLater(30) }),
  );
  const shrunk = threeTaken.at(MONDAY).execute(install(1, { slots: 2 }));

  test("is recorded as an installation, and answers with what changed", () => {
    given(licenseInstalled(1))
      .at(hoursLater(1))
      .when(install(1, { slots: 9 }))
      .records({ type: "LicenseInstalled", at: hoursLater(1), license: 1 })
      .answers({ license: 1, changes: ["slots 2 → 9"] });
  });

  test("with more slots grants them immediately", () => {
    threeTaken
      .at(MONDAY)
      .execute(install(1, { slots: 4 }))
      .at(MONDAY)
      .when(register("joe"))
      .records(slotTakenOn(1));
  });

  test("with fewer slots than are held takes none away", () => {
    for (const user of ["ada", "bob", "eve"]) {
      shrunk.at(minutesLater(1)).when(register(user)).records({ type: "SlotRenewed", user });
    }
    threeTaken
      .at(MONDAY)
      .when(install(1, { slots: 0 }))
      .expires();
  });

  test("with fewer slots grants nothing until fewer than the new number are held", () => {
    shrunk.at(minutesLater(20)).when(register("joe")).refuses(noFreeSlot(2));
    shrunk
      .at(minutesLater(25))
      .when(register("joe"))
      .records(slotTakenOn(1))
      .answers({ slotsInUse: 2 });
  });

  test("with fewer slots names the time a slot really gets free, not the next end", () => {
    shrunk.at(minutesLater(1)).when(register("joe")).refuses(noFreeSlot(2));
  });

  test("changes the timeout from the next heartbeat on", () => {
    const shorterTimeout = given(licenseInstalled(1), slotTaken("ada"))
      .at(MONDAY)
      .execute(install(1, { timeoutMinutes: 5 }));
    shorterTimeout
      .at(minutesLater(29))
      .when(register("ada"))
      .records({ type: "SlotRenewed", end: minutesLater(34) });
  });

  test("makes an expired license valid again, with its registrations", () => {
    given(licenseInstalled(1, { validUntil: minutesLater(5) }), slotTaken("ada"))
      .at(minutesLater(10))
      .execute(install(1))
      .at(minutesLater(11))
      .when(register("ada"))
      .records({ type: "SlotRenewed" });
  });

  test("is refused for another product under the same id", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(install(1, { product: "cam" }))
      .refuses({ code: "untrusted_vendor", conflict: { over: "license", license: 1 } });
  });
});

const consumedWith = (period: "daily" | "monthly" | null) =>
  given(licenseInstalled(1, { consumption: consumptionTerms({ period }) }))
    .at(MONDAY)
    .execute(consume(8));
const midnight = utc("2026-03-03T00:00:00Z");

const prints = (max: number, period: "daily" | null) => ({
  features: [featureTerms("prints", { consumption: consumptionTerms({ max, period }) })],
});

describe("renewing a license with consumption", () => {
  test("keeps the total; a lower maximum only refuses further counts", () => {
    const lower = consumedWith(null)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 5 }) }));
    lower.at(MONDAY).when(consume(1)).refuses({ code: "license_not_enough_consumptions", left: 0 });
    const higher = consumedWith(null)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 9 }) }));
    higher.at(MONDAY).when(consume(1)).records({ type: "ConsumptionAdded", total: 9 });
  });

  test("with another period resets the total at the next boundary of the new period", () => {
    for (const period of ["monthly", null] as const) {
      const daily = install(1, { consumption: consumptionTerms({ period: "daily" }) });
      const renewed = consumedWith(period).at(hoursLater(1)).execute(daily);
      renewed.at(justBefore(midnight)).when(consume(0)).answers({ total: 8 });
      renewed.at(midnight).when(consume(0)).answers({ total: 0 });
    }
  });

  test("without a period keeps the total of the last period, unless that had ended", () => {
    const withoutPeriod = install(1, { consumption: consumptionTerms({ period: null }) });
    consumedWith("daily")
      .at(hoursLater(1))
      .execute(withoutPeriod)
      .at(hoursLater(99))
      .when(consume(0))
      .answers({ total: 8 });
    consumedWith("daily")
      .at(midnight)
      .execute(withoutPeriod)
      .at(hoursLater(99))
      .when(consume(0))
      .answers({ total: 0 });
  });

  test("applies the same rules to each feature", () => {
    const renewed = given(licenseInstalled(1, prints(10, null)))
      .at(MONDAY)
      .execute(consumeFeature("prints", 8), install(1, prints(9, "daily")));
    renewed
      .at(justBefore(midnight))
      .when(consumeFeature("prints", 2))
      .refuses({ code: "feature_not_enough_consumptions", left: 1 });
    renewed.at(midnight).when(consumeFeature("prints", 9)).answers({ total: 9 });
  });
});
