import { describe, test } from "bun:test";
import {
  before,
  consume,
  consumeFeature,
  counting,
  feature,
  given,
  hours,
  install,
  installed,
  minutes,
  MONDAY,
  register,
  taken,
  terms,
  utc,
} from "../support/scenario.ts";

const took = (license: number) => ({ type: "SlotTaken", license }) as const;

describe("renewing", () => {
  const three = given(
    installed(1, { slots: 3 }),
    taken("ada", { slot: 1, end: minutes(20) }),
    taken("bob", { slot: 2, end: minutes(25) }),
    taken("eve", { slot: 3, end: minutes(30) }),
  );
  const shrunk = three.at(MONDAY).did(install(1, { slots: 2 }));

  test("is recorded as the license coming in again, and names the terms that it replaces", () => {
    given(installed(1))
      .at(hours(1))
      .when(install(1, { slots: 9 }))
      .records({ type: "LicenseInstalled", at: hours(1), license: 1 })
      .answers({ license: 1, replacedTerms: terms() });
  });

  test("with more slots lets more in at once", () => {
    three
      .at(MONDAY)
      .did(install(1, { slots: 4 }))
      .at(MONDAY)
      .when(register("joe"))
      .records(took(1));
  });

  test("with fewer slots than are held takes none away", () => {
    for (const user of ["ada", "bob", "eve"]) {
      shrunk.at(minutes(1)).when(register(user)).records({ type: "SlotRenewed", user });
    }
    three
      .at(MONDAY)
      .when(install(1, { slots: 0 }))
      .expires();
  });

  test("with fewer slots grants nothing until those held are below the new number", () => {
    shrunk
      .at(minutes(20))
      .when(register("joe"))
      .refuses({ code: "floating_not_available", slots: 2, nextFree: minutes(25) });
    shrunk.at(minutes(25)).when(register("joe")).records(took(1)).answers({ slotsInUse: 2 });
  });

  test("with fewer slots names the instant one really comes free, not the next end", () => {
    shrunk
      .at(minutes(1))
      .when(register("joe"))
      .refuses({ code: "floating_not_available", slots: 2, nextFree: minutes(25) });
  });

  test("changes the timeout from the next heartbeat on", () => {
    const quicker = given(installed(1), taken("ada"))
      .at(MONDAY)
      .did(install(1, { timeoutMinutes: 5 }));
    quicker
      .at(minutes(29))
      .when(register("ada"))
      .records({ type: "SlotRenewed", end: minutes(34) });
  });

  test("brings an ended license back, with its registrations", () => {
    given(installed(1, { validUntil: minutes(5) }), taken("ada"))
      .at(minutes(10))
      .did(install(1))
      .at(minutes(11))
      .when(register("ada"))
      .records({ type: "SlotRenewed" });
  });

  test("cannot move an id to another product", () => {
    given(installed(1))
      .at(MONDAY)
      .when(install(1, { product: "cam" }))
      .refuses({ code: "untrusted_vendor" });
  });
});

const used = (period: "daily" | "monthly" | null) =>
  given(installed(1, { consumption: counting({ period }) }))
    .at(MONDAY)
    .did(consume(8));
const midnight = utc("2026-03-03T00:00:00Z");

const prints = (max: number, period: "daily" | null) => ({
  features: [feature("prints", { consumption: counting({ max, period }) })],
});

describe("renewing what counts", () => {
  test("keeps the total; a lower maximum only stops what comes next", () => {
    const lower = used(null)
      .at(MONDAY)
      .did(install(1, { consumption: counting({ max: 5 }) }));
    lower.at(MONDAY).when(consume(1)).refuses({ code: "license_not_enough_consumptions", left: 0 });
    const higher = used(null)
      .at(MONDAY)
      .did(install(1, { consumption: counting({ max: 9 }) }));
    higher.at(MONDAY).when(consume(1)).records({ type: "ConsumptionAdded", total: 9 });
  });

  test("with another period resets at the new one's next boundary", () => {
    for (const period of ["monthly", null] as const) {
      const daily = install(1, { consumption: counting({ period: "daily" }) });
      const renewed = used(period).at(hours(1)).did(daily);
      renewed.at(before(midnight)).when(consume(0)).answers({ total: 8 });
      renewed.at(midnight).when(consume(0)).answers({ total: 0 });
    }
  });

  test("without a period any more keeps what the last one counted, unless it had ended", () => {
    const never = install(1, { consumption: counting({ period: null }) });
    used("daily").at(hours(1)).did(never).at(hours(99)).when(consume(0)).answers({ total: 8 });
    used("daily").at(midnight).did(never).at(hours(99)).when(consume(0)).answers({ total: 0 });
  });

  test("does the same for each feature", () => {
    const renewed = given(installed(1, prints(10, null)))
      .at(MONDAY)
      .did(consumeFeature("prints", 8), install(1, prints(9, "daily")));
    renewed
      .at(before(midnight))
      .when(consumeFeature("prints", 2))
      .refuses({ code: "feature_not_enough_consumptions", left: 1 });
    renewed.at(midnight).when(consumeFeature("prints", 9)).answers({ total: 9 });
  });
});
