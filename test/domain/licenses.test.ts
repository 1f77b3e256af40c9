import { describe, test } from "bun:test";
import {
  before,
  given,
  hours,
  install,
  installed,
  minutes,
  MONDAY,
  register,
  taken,
  unregister,
} from "../support/scenario.ts";

const took = (license: number) => ({ type: "SlotTaken", license }) as const;

describe("which product", () => {
  test("the only one installed, where none is named", () => {
    given(installed(1), installed(2))
      .at(MONDAY)
      .when(register("ada", { product: null }))
      .records(took(2))
      .answers({ product: "cad" });
  });

  test("with several, none is guessed", () => {
    given(installed(1), installed(2, { product: "cam" }))
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
    given(installed(1))
      .at(MONDAY)
      .when(register("ada", { product: "CAD" }))
      .refuses({ code: "unknown_product" });
  });
});

describe("which license", () => {
  const two = given(installed(1, { slots: 1 }), installed(2, { slots: 1 }));

  test("the most recently added one with a free slot", () => {
    two.at(MONDAY).when(register("ada")).records(took(2));
    two.at(MONDAY).did(register("ada")).at(MONDAY).when(register("bob")).records(took(1));
  });

  test("a renewed license does not become the most recent one", () => {
    two
      .at(hours(1))
      .did(install(1, { slots: 1 }))
      .at(hours(1))
      .when(register("ada"))
      .records(took(2));
  });

  test("the one the user already holds a slot of, though a newer one is free", () => {
    given(...two.events, taken("ada"))
      .at(minutes(1))
      .when(register("ada"))
      .records({ type: "SlotRenewed", license: 1 });
  });

  test("another one, when the one the user holds is not valid any more", () => {
    given(installed(1, { validUntil: minutes(5) }), installed(2), taken("ada"))
      .at(minutes(5))
      .when(register("ada"))
      .records(took(2));
  });

  test("the one named, whatever the user holds, or none", () => {
    const held = given(...two.events, taken("ada"));
    held
      .at(MONDAY)
      .when(register("ada", { licenseId: 2 }))
      .records(took(2));
    given(...held.events, taken("bob", { license: 2, slot: 2 }))
      .at(MONDAY)
      .when(register("eve", { licenseId: 2 }))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: minutes(30) });
  });

  test("one named of another product, or that is not there, is not found", () => {
    const all = given(...two.events, installed(3, { product: "cam" }));
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
      installed(1, { slots: 1 }),
      installed(2, { slots: 2 }),
      installed(3, { slots: 1 }),
      taken("ada", { license: 1, slot: 1, end: minutes(12) }),
      taken("bob", { license: 2, slot: 2, end: minutes(20) }),
      taken("eve", { license: 2, slot: 3, end: minutes(10) }),
      taken("max", { license: 3, slot: 4, end: minutes(11) }),
    )
      .at(MONDAY)
      .when(register("joe"))
      .refuses({ code: "floating_not_available", slots: 4, nextFree: minutes(10) });
  });

  test("the slots of an invalid license do not count among those", () => {
    given(installed(1, { slots: 5, enabled: false }), installed(2, { slots: 0 }))
      .at(MONDAY)
      .when(register("joe"))
      .refuses({ code: "floating_not_available", slots: 0, nextFree: null });
  });
});

describe("validity", () => {
  test("begins at the start exactly", () => {
    const starting = given(installed(1, { start: hours(1) }));
    starting
      .at(before(hours(1)))
      .when(register("ada"))
      .refuses({ code: "license_not_active", start: hours(1) });
    starting.at(hours(1)).when(register("ada")).records(took(1));
  });

  test("ends at its end exactly, for a heartbeat too", () => {
    const ending = given(installed(1, { validUntil: minutes(20) }), taken("ada"));
    const fault = { code: "license_expired", what: "license", end: minutes(20) } as const;
    const last = before(minutes(20));
    ending.at(last).when(register("ada")).records({ type: "SlotRenewed" });
    ending.at(last).when(register("bob")).records(took(1));
    ending.at(minutes(20)).when(register("ada")).refuses(fault);
    ending.at(minutes(20)).when(register("bob")).refuses(fault);
  });

  test("goes on through the hours of grace, where there are any", () => {
    const graced = given(installed(1, { validUntil: hours(1), graceHours: 2 }));
    graced
      .at(before(hours(3)))
      .when(register("ada"))
      .records(took(1));
    graced
      .at(hours(3))
      .when(register("ada"))
      .refuses({ code: "license_expired", what: "license", end: hours(3) });
  });

  test("is nothing on a license that is not enabled, whatever its dates", () => {
    given(installed(1, { enabled: false, start: hours(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .refuses({ code: "license_not_enabled" });
  });

  test("of an older license serves while the newer one has none", () => {
    given(installed(1), installed(2, { start: hours(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .records(took(1));
  });

  test("missing everywhere is explained by the most recently added license", () => {
    given(installed(1, { enabled: false }), installed(2, { start: hours(1) }))
      .at(MONDAY)
      .when(register("ada"))
      .refuses({ code: "license_not_active", start: hours(1) });
  });
});
