import { describe, expect, test } from "bun:test";
import { transact } from "../../../src/domain/transact.ts";
import {
  justBefore,
  slotBorrowed,
  CONTACT,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  replayEvents,
  slotTaken,
  unregister,
  noFreeSlot,
} from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";

describe("register", () => {
  const unused = given(licenseInstalled(1, { slots: 2, timeoutMinutes: 30 }));

  test("takes a slot until now plus the timeout, and answers with it", () => {
    const slot = { license: 1, user: "ada", slot: 1, end: minutesLater(30), contact: CONTACT };
    unused
      .at(MONDAY)
      .when(register("ada"))
      .records({ type: "SlotTaken", at: MONDAY, ...slot })
      .answers({
        ...slot,
        product: "cad",
        registeredAt: MONDAY,
        borrowedUntil: null,
        slotsInUse: 1,
      });
  });

  test("counts the caller among the slots in use", () => {
    unused
      .at(MONDAY)
      .execute(register("ada"))
      .at(MONDAY)
      .when(register("bob"))
      .answers({ slotsInUse: 2 });
  });

  test("gives every slot its own number", () => {
    given(...unused.events, licenseInstalled(2, { product: "cam" }))
      .at(MONDAY)
      .execute(register("ada"), register("ada", { product: "cam" }))
      .at(MONDAY)
      .when(register("bob"))
      .records({ type: "SlotTaken", slot: 3 });
  });

  test("refuses a call without a user, and names all missing parameters at once", () => {
    unused
      .at(MONDAY)
      .when(register(null))
      .refuses({ code: "missing_parameters", fields: ["user"] });
    given(...unused.events, licenseInstalled(2, { product: "cam" }))
      .at(MONDAY)
      .when(register(null, { product: null }))
      .refuses({ code: "missing_parameters", fields: ["user", "product"] });
  });

  test("accepts user and product names that every object has as properties", () => {
    const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];
    for (const name of names) {
      given(licenseInstalled(1, { product: name, slots: 1 }))
        .at(MONDAY)
        .when(register(name, { product: name }))
        .records({ type: "SlotTaken", user: name, slot: 1 });
      unused
        .at(MONDAY)
        .when(register("ada", { product: name }))
        .refuses({ code: "unknown_product" });
      unused.at(MONDAY).when(unregister(name)).refuses({ code: "user_not_registered" });
    }
  });

  test("treats user names that differ in case as different users", () => {
    given(licenseInstalled(1, { slots: 1 }), slotTaken("ada"))
      .at(MONDAY)
      .when(register("Ada"))
      .refuses(noFreeSlot(1));
  });
});

describe("the only slot, held by ada", () => {
  const history = given(licenseInstalled(1, { slots: 1 }), slotTaken("ada"));

  test("is refused to bob one millisecond before its end, with the time of that end", () => {
    history
      .at(justBefore(minutesLater(30)))
      .when(register("bob"))
      .refuses(noFreeSlot(1));
  });

  test("is granted to bob at exactly its end, and recorded as expired at that instant", () => {
    history
      .at(minutesLater(30))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: minutesLater(30), user: "ada", slot: 1 })
      .records({ type: "SlotTaken", user: "bob", slot: 2 })
      .answers({ slotsInUse: 1 });
  });

  test("is renewed by her heartbeat although all slots are taken", () => {
    history
      .at(minutesLater(20))
      .when(register("ada"))
      .records({
        type: "SlotRenewed",
        at: minutesLater(20),
        license: 1,
        user: "ada",
        end: minutesLater(50),
      })
      .answers({ slot: 1, registeredAt: MONDAY, end: minutesLater(50), slotsInUse: 1 });
  });

  test("is granted to bob later after her heartbeat", () => {
    const renewed = history.at(minutesLater(20)).execute(register("ada"));
    renewed
      .at(justBefore(minutesLater(50)))
      .when(register("bob"))
      .refuses(noFreeSlot(1));
    renewed
      .at(minutesLater(50))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: minutesLater(50), user: "ada" })
      .records({ type: "SlotTaken", user: "bob" });
  });

  test("is renewed by her heartbeat one millisecond before its end", () => {
    history
      .at(justBefore(minutesLater(30)))
      .when(register("ada"))
      .records({ type: "SlotRenewed", end: justBefore(minutesLater(60)) });
  });

  test("expires at its end, so that her heartbeat then takes a new slot", () => {
    history
      .at(minutesLater(30))
      .when(register("ada"))
      .expires()
      .records(
        { type: "SlotExpired", at: minutesLater(30), user: "ada", slot: 1 },
        { type: "SlotTaken", at: minutesLater(30), user: "ada", slot: 2, end: minutesLater(60) },
      )
      .answers({ registeredAt: minutesLater(30), slotsInUse: 1 });
  });

  test("is refused to ada when bob took it after its end", () => {
    history
      .at(minutesLater(40))
      .execute(register("bob"))
      .at(minutesLater(41))
      .when(register("ada"))
      .refuses(noFreeSlot(1));
  });
});

describe("a heartbeat", () => {
  const history = given(licenseInstalled(1), slotTaken("ada"));

  test("records the contact only when it changed", () => {
    const same = transact(
      replayEvents(history.events),
      register("ada"),
      contextAt(minutesLater(1)),
    );
    expect(same.ok && same.value.journalLines.flat()[0]).not.toHaveProperty("contact");
    for (const field of ["hostname", "ip", "info", "peer"]) {
      const contact = { ...CONTACT, [field]: "elsewhere" };
      history
        .at(minutesLater(1))
        .when(register("ada", { contact }))
        .records({ type: "SlotRenewed", contact })
        .answers({ contact });
    }
  });

  test("neither shortens nor cancels a borrow", () => {
    given(...history.events, slotBorrowed("ada", hoursLater(8)))
      .at(minutesLater(10))
      .when(register("ada"))
      .records({ type: "SlotRenewed", end: hoursLater(8) })
      .answers({ end: hoursLater(8), borrowedUntil: hoursLater(8) });
  });

  test("renews the slot past the end of the borrow", () => {
    const renewed = given(...history.events, slotBorrowed("ada", hoursLater(8)))
      .at(minutesLater(470))
      .execute(register("ada"));
    renewed
      .at(justBefore(hoursLater(8)))
      .when(register("ada"))
      .answers({ borrowedUntil: hoursLater(8) });
    renewed
      .at(hoursLater(8))
      .when(register("ada"))
      .records({ type: "SlotRenewed", end: minutesLater(510) })
      .answers({ registeredAt: MONDAY, borrowedUntil: null });
  });
});

describe("a refusal because all slots are taken", () => {
  test("names the earliest end that is still to come", () => {
    given(
      licenseInstalled(1, { slots: 2 }),
      slotTaken("ada", { slot: 1, end: minutesLater(20) }),
      slotTaken("bob", { slot: 2, end: minutesLater(40) }),
      slotTaken("eve", { slot: 3, end: minutesLater(5) }),
    )
      .at(minutesLater(10))
      .when(register("joe"))
      .refuses(noFreeSlot(2));
  });

  test("names no time when the license has no slots", () => {
    given(licenseInstalled(1, { slots: 0 }))
      .at(MONDAY)
      .when(register("ada"))
      .refuses(noFreeSlot(0));
  });
});
