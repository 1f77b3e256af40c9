import { describe, test } from "bun:test";
import {
  justBefore,
  given,
  hoursLater,
  install,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  slotTaken,
  unregister,
  noFreeSlot,
} from "../../support/scenario.ts";

const slotTakenOn = (license: number) => ({ type: "SlotTaken", license }) as const;

describe("choice of the product", () => {
  test("is the only installed product when none is named", () => {
    given(licenseInstalled(1), licenseInstalled(2))
      .at(MONDAY)
      .when(register("ada", { product: null }))
      .records(slotTakenOn(2))
      .answers({ product: "cad" });
  });

  test("is refused when none is named and several are installed", () => {
    given(licenseInstalled(1), licenseInstalled(2, { product: "cam" }))
      .at(MONDAY)
      .when(register("ada", { product: null, licenseId: 1 }))
      .refuses({ code: "missing_parameters", fields: ["product"] });
  });

  test("is refused when no license is installed", () => {
    for (const product of ["cad", null]) {
      given().at(MONDAY).when(register("ada", { product })).refuses({ code: "license_not_found" });
    }
  });

  test("is refused when the named product is not installed", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(register("ada", { product: "CAD" }))
      .refuses({ code: "unknown_product" });
  });
});

describe("choice of the license", () => {
  const twoLicenses = given(licenseInstalled(1, { slots: 1 }), licenseInstalled(2, { slots: 1 }));

  test("is the most recently added license with a free slot", () => {
    twoLicenses.at(MONDAY).when(register("ada")).records(slotTakenOn(2));
    twoLicenses
      .at(MONDAY)
      .execute(register("ada"))
      .at(MONDAY)
      .when(register("bob"))
      .records(slotTakenOn(1));
  });

  test("does not treat a renewed license as the most recent one", () => {
    twoLicenses
      .at(hoursLater(1))
      .execute(install(1, { slots: 1 }))
      .at(hoursLater(1))
      .when(register("ada"))
      .records(slotTakenOn(2));
  });

  test("is the license the user holds a slot of, although a newer one is free", () => {
    given(...twoLicenses.events, slotTaken("ada"))
      .at(minutesLater(1))
      .when(register("ada"))
      .records({ type: "SlotRenewed", license: 1 });
  });

  test("is another license when the one the user holds is no longer valid", () => {
    given(
      licenseInstalled(1, { validUntil: minutesLater(5) }),
      licenseInstalled(2),
      slotTaken("ada"),
    )
      .at(minutesLater(5))
      .when(register("ada"))
      .records(slotTakenOn(2));
  });

  test("is the named license only, whatever the user holds", () => {
    const registered = given(...twoLicenses.events, slotTaken("ada"));
    registered
      .at(MONDAY)
      .when(register("ada", { licenseId: 2 }))
      .records(slotTakenOn(2));
    given(...registered.events, slotTaken("bob", { license: 2, slot: 2 }))
      .at(MONDAY)
      .when(register("eve", { licenseId: 2 }))
      .refuses(noFreeSlot(1));
  });

  test("is refused when the named license is of another product or not installed", () => {
    const all = given(...twoLicenses.events, licenseInstalled(3, { product: "cam" }));
    for (const licenseId of [3, 4]) {
      all.at(MONDAY).when(register("ada", { licenseId })).refuses({ code: "license_not_found" });
    }
    all
      .at(MONDAY)
      .when(unregister("ada", { licenseId: 3 }))
      .refuses({ code: "license_not_found" });
  });

  test("is refused with the sum of slots and the earliest end when all are full", () => {
    given(
      licenseInstalled(1, { slots: 1 }),
      licenseInstalled(2, { slots: 2 }),
      licenseInstalled(3, { slots: 1 }),
      slotTaken("ada", { license: 1, slot: 1, end: minutesLater(12) }),
      slotTaken("bob", { license: 2, slot: 2, end: minutesLater(20) }),
      slotTaken("eve", { license: 2, slot: 3, end: minutesLater(10) }),
      slotTaken("max", { license: 3, slot: 4, end: minutesLater(11) }),
    )
      .at(MONDAY)
      .when(register("joe"))
      .refuses(noFreeSlot(4));
  });

  test("does not count the slots of an invalid license in a refusal", () => {
    given(licenseInstalled(1, { slots: 5, enabled: false }), licenseInstalled(2, { slots: 0 }))
      .at(MONDAY)
      .when(register("joe"))
      .refuses(noFreeSlot(0));
  });
});

describe("validity of a license", () => {
  test("begins exactly at its start", () => {
    const startingLater = given(licenseInstalled(1, { start: hoursLater(1) }));
    startingLater
      .at(justBefore(hoursLater(1)))
      .when(register("ada"))
      .refuses({ code: "license_not_active", start: hoursLater(1) });
    startingLater.at(hoursLater(1)).when(register("ada")).records(slotTakenOn(1));
  });

  test("ends exactly at its end, for heartbeats too", () => {
    const expiring = given(licenseInstalled(1, { validUntil: minutesLater(20) }), slotTaken("ada"));
    const fault = { code: "license_expired", what: "license", end: minutesLater(20) } as const;
    const last = justBefore(minutesLater(20));
    expiring.at(last).when(register("ada")).records({ type: "SlotRenewed" });
    expiring.at(last).when(register("bob")).records(slotTakenOn(1));
    expiring.at(minutesLater(20)).when(register("ada")).refuses(fault);
    expiring.at(minutesLater(20)).when(register("bob")).refuses(fault);
  });

  test("lasts until the end of the grace hours", () => {
    const withGrace = given(licenseInstalled(1, { validUntil: hoursLater(1), graceHours: 2 }));
    withGrace
      .at(justBefore(hoursLater(3)))
      .when(register("ada"))
      .records(slotTakenOn(1));
    withGrace
      .at(hoursLater(3))
      .when(register("ada"))
      .refuses({ code: "license_expired", what: "license", end: hoursLater(3) });
  });

  test("is refused on a license that is not enabled, whatever its dates", () => {
    given(licenseInstalled(1, { enabled: false, start: hoursLater(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .refuses({ code: "license_not_enabled" });
  });

  test("of an older license is enough while the newer one is not valid", () => {
    given(licenseInstalled(1), licenseInstalled(2, { start: hoursLater(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .records(slotTakenOn(1));
  });

  test("is explained by the most recently added license when none is valid", () => {
    given(licenseInstalled(1, { enabled: false }), licenseInstalled(2, { start: hoursLater(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .refuses({ code: "license_not_active", start: hoursLater(1) });
  });
});
