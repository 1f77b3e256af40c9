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
  terms,
  utc,
} from "../support/scenario.ts";

const took = (license: number) => ({ type: "SlotTaken", license }) as const;

describe("renewing", () => {
  const three = given(
    licenseInstalled(1, { slots: 3 }),
    slotTaken("ada", { slot: 1, end: minutesLater(20) }),
    slotTaken("bob", { slot: 2, end: minutesLater(25) }),
    slotTaken("eve", { slot: 3, end: minutesLater(30) }),
  );
  const shrunk = three.at(MONDAY).execute(install(1, { slots: 2 }));

  test("is recorded as the license coming in again, and names the terms that it replaces", () => {
    given(licenseInstalled(1))
      .at(hoursLater(1))
      .when(install(1, { slots: 9 }))
      .records({ type: "LicenseInstalled", at: hoursLater(1), license: 1 })
      .answers({ license: 1, replacedTerms: terms() });
  });

  test("with more slots lets more in at once", () => {
    three
      .at(MONDAY)
      .execute(install(1, { slots: 4 }))
      .at(MONDAY)
      .when(register("joe"))
      .records(took(1));
  });

  test("with fewer slots than are held takes none away", () => {
    for (const user of ["ada", "bob", "eve"]) {
      shrunk.at(minutesLater(1)).when(register(user)).records({ type: "SlotRenewed", user });
    }
    three
      .at(MONDAY)
      .when(install(1, { slots: 0 }))
      .expires();
  });

  test("with fewer slots grants nothing until those held are below the new number", () => {
    shrunk
      .at(minutesLater(20))
      .when(register("joe"))
      .refuses({ code: "floating_not_available", slots: 2, nextFree: minutesLater(25) });
    shrunk.at(minutesLater(25)).when(register("joe")).records(took(1)).answers({ slotsInUse: 2 });
  });

  test("with fewer slots names the instant one really comes free, not the next end", () => {
    shrunk
      .at(minutesLater(1))
      .when(register("joe"))
      .refuses({ code: "floating_not_available", slots: 2, nextFree: minutesLater(25) });
  });

  test("changes the timeout from the next heartbeat on", () => {
    const quicker = given(licenseInstalled(1), slotTaken("ada"))
      .at(MONDAY)
      .execute(install(1, { timeoutMinutes: 5 }));
    quicker
      .at(minutesLater(29))
      .when(register("ada"))
      .records({ type: "SlotRenewed", end: minutesLater(34) });
  });

  test("brings an ended license back, with its registrations", () => {
    given(licenseInstalled(1, { validUntil: minutesLater(5) }), slotTaken("ada"))
      .at(minutesLater(10))
      .execute(install(1))
      .at(minutesLater(11))
      .when(register("ada"))
      .records({ type: "SlotRenewed" });
  });

  test("cannot move an id to another product", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(install(1, { product: "cam" }))
      .refuses({ code: "untrusted_vendor" });
  });
});

const used = (period: "daily" | "monthly" | null) =>
  given(licenseInstalled(1, { consumption: consumptionTerms({ period }) }))
    .at(MONDAY)
    .execute(consume(8));
const midnight = utc("2026-03-03T00:00:00Z");

const prints = (max: number, period: "daily" | null) => ({
  features: [featureTerms("prints", { consumption: consumptionTerms({ max, period }) })],
});

describe("renewing what counts", () => {
  test("keeps the total; a lower maximum only stops what comes next", () => {
    const lower = used(null)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 5 }) }));
    lower.at(MONDAY).when(consume(1)).refuses({ code: "license_not_enough_consumptions", left: 0 });
    const higher = used(null)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 9 }) }));
    higher.at(MONDAY).when(consume(1)).records({ type: "ConsumptionAdded", total: 9 });
  });

  test("with another period resets at the new one's next boundary", () => {
    for (const period of ["monthly", null] as const) {
      const daily = install(1, { consumption: consumptionTerms({ period: "daily" }) });
      const renewed = used(period).at(hoursLater(1)).execute(daily);
      renewed.at(justBefore(midnight)).when(consume(0)).answers({ total: 8 });
      renewed.at(midnight).when(consume(0)).answers({ total: 0 });
    }
  });

  test("without a period any more keeps what the last one counted, unless it had ended", () => {
    const never = install(1, { consumption: consumptionTerms({ period: null }) });
    used("daily")
      .at(hoursLater(1))
      .execute(never)
      .at(hoursLater(99))
      .when(consume(0))
      .answers({ total: 8 });
    used("daily")
      .at(midnight)
      .execute(never)
      .at(hoursLater(99))
      .when(consume(0))
      .answers({ total: 0 });
  });

  test("does the same for each feature", () => {
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
