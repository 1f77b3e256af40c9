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
} from "../support/scenario.ts";

const took = (license: number) => ({ type: "SlotTaken", license }) as const;

describe("which product", () => {
  test("the only one installed, where none is named", () => {
    given(licenseInstalled(1), licenseInstalled(2))
      .at(MONDAY)
      .when(register("ada", { product: null }))
      .records(took(2))
      .answers({ product: "cad" });
  });

  test("with several, none is guessed", () => {
    given(licenseInstalled(1), licenseInstalled(2, { product: "cam" }))
      .at(MONDAY)
      .when(register("ada", { product: null, licenseId: 1 }))
      .refuses({ code: "missing_parameters", fields: ["product"] });
  });

  test("without any license there is none to find", () => {
    for (const product of ["cad", null]) {
      given().at(MONDAY).when(register("ada", { product })).refuses({ code: "license_not_found" });
    }
  });

  test("one that is not installed is unknown", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(register("ada", { product: "CAD" }))
      .refuses({ code: "unknown_product" });
  });
});

describe("which license", () => {
  const two = given(licenseInstalled(1, { slots: 1 }), licenseInstalled(2, { slots: 1 }));

  test("the most recently added one with a free slot", () => {
    two.at(MONDAY).when(register("ada")).records(took(2));
    two.at(MONDAY).execute(register("ada")).at(MONDAY).when(register("bob")).records(took(1));
  });

  test("a renewed license does not become the most recent one", () => {
    two
      .at(hoursLater(1))
      .execute(install(1, { slots: 1 }))
      .at(hoursLater(1))
      .when(register("ada"))
      .records(took(2));
  });

  test("the one the user already holds a slot of, though a newer one is free", () => {
    given(...two.events, slotTaken("ada"))
      .at(minutesLater(1))
      .when(register("ada"))
      .records({ type: "SlotRenewed", license: 1 });
  });

  test("another one, when the one the user holds is not valid any more", () => {
    given(
      licenseInstalled(1, { validUntil: minutesLater(5) }),
      licenseInstalled(2),
      slotTaken("ada"),
    )
      .at(minutesLater(5))
      .when(register("ada"))
      .records(took(2));
  });

  test("the one named, whatever the user holds, or none", () => {
    const held = given(...two.events, slotTaken("ada"));
    held
      .at(MONDAY)
      .when(register("ada", { licenseId: 2 }))
      .records(took(2));
    given(...held.events, slotTaken("bob", { license: 2, slot: 2 }))
      .at(MONDAY)
      .when(register("eve", { licenseId: 2 }))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: minutesLater(30) });
  });

  test("one named of another product, or that is not there, is not found", () => {
    const all = given(...two.events, licenseInstalled(3, { product: "cam" }));
    for (const licenseId of [3, 4]) {
      all.at(MONDAY).when(register("ada", { licenseId })).refuses({ code: "license_not_found" });
    }
    all
      .at(MONDAY)
      .when(unregister("ada", { licenseId: 3 }))
      .refuses({ code: "license_not_found" });
  });

  test("with all full, the slots are those of all and the end is the earliest", () => {
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
      .refuses({ code: "floating_not_available", slots: 4, nextFree: minutesLater(10) });
  });

  test("the slots of an invalid license do not count among those", () => {
    given(licenseInstalled(1, { slots: 5, enabled: false }), licenseInstalled(2, { slots: 0 }))
      .at(MONDAY)
      .when(register("joe"))
      .refuses({ code: "floating_not_available", slots: 0, nextFree: null });
  });
});

describe("validity", () => {
  test("begins at the start exactly", () => {
    const starting = given(licenseInstalled(1, { start: hoursLater(1) }));
    starting
      .at(justBefore(hoursLater(1)))
      .when(register("ada"))
      .refuses({ code: "license_not_active", start: hoursLater(1) });
    starting.at(hoursLater(1)).when(register("ada")).records(took(1));
  });

  test("ends at its end exactly, for a heartbeat too", () => {
    const ending = given(licenseInstalled(1, { validUntil: minutesLater(20) }), slotTaken("ada"));
    const fault = { code: "license_expired", what: "license", end: minutesLater(20) } as const;
    const last = justBefore(minutesLater(20));
    ending.at(last).when(register("ada")).records({ type: "SlotRenewed" });
    ending.at(last).when(register("bob")).records(took(1));
    ending.at(minutesLater(20)).when(register("ada")).refuses(fault);
    ending.at(minutesLater(20)).when(register("bob")).refuses(fault);
  });

  test("goes on through the hours of grace, where there are any", () => {
    const graced = given(licenseInstalled(1, { validUntil: hoursLater(1), graceHours: 2 }));
    graced
      .at(justBefore(hoursLater(3)))
      .when(register("ada"))
      .records(took(1));
    graced
      .at(hoursLater(3))
      .when(register("ada"))
      .refuses({ code: "license_expired", what: "license", end: hoursLater(3) });
  });

  test("is nothing on a license that is not enabled, whatever its dates", () => {
    given(licenseInstalled(1, { enabled: false, start: hoursLater(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .refuses({ code: "license_not_enabled" });
  });

  test("of an older license serves while the newer one has none", () => {
    given(licenseInstalled(1), licenseInstalled(2, { start: hoursLater(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .records(took(1));
  });

  test("missing everywhere is explained by the most recently added license", () => {
    given(licenseInstalled(1, { enabled: false }), licenseInstalled(2, { start: hoursLater(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .refuses({ code: "license_not_active", start: hoursLater(1) });
  });
});
