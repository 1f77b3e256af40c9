import { describe, test } from "bun:test";
import { machineOf } from "../../../src/domain/model/slots/contact.ts";
import { later, SECOND } from "../../../src/domain/time.ts";
import {
  justBefore,
  borrow,
  slotBorrowed,
  CONTACT,
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

const seconds = (count: number) => count * SECOND;

describe("borrow", () => {
  const unused = given(licenseInstalled(1, { slots: 1, borrowHours: 24 }));

  test("registers the user if needed and holds the slot until the date", () => {
    const contact = { ...CONTACT, hostname: "laptop" };
    const slot = { license: 1, user: "ada", slot: 1 };
    const machine = machineOf(contact);
    unused
      .at(MONDAY)
      .when(borrow("ada", hoursLater(8), { contact }))
      .records(
        { type: "SlotTaken", ...slot, contact, end: minutesLater(30) },
        {
          type: "SlotBorrowed",
          ...slot,
          contact: machine,
          until: hoursLater(8),
          end: hoursLater(8),
          early: false,
        },
      )
      .answers({
        ...slot,
        contact,
        end: hoursLater(8),
        borrowedUntil: hoursLater(8),
        slotsInUse: 1,
      });
  });

  test("refuses a call without a user", () => {
    const fault = { code: "missing_parameters", fields: ["user"] } as const;
    unused.at(MONDAY).when(borrow(null)).refuses(fault);
  });

  test("holds the slot for the longest allowed time when no date is named", () => {
    unused
      .at(MONDAY)
      .when(borrow("ada", null))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", until: hoursLater(24) });
  });

  test("keeps the slot of its holder, also when all slots are taken", () => {
    given(...unused.events, slotTaken("ada"))
      .at(minutesLater(5))
      .when(borrow("ada", hoursLater(8)))
      .records({ type: "SlotBorrowed", slot: 1, until: hoursLater(8) })
      .answers({ registeredAt: MONDAY, slotsInUse: 1 });
  });

  test("keeps the timeout as the end when the borrow is shorter", () => {
    unused
      .at(MONDAY)
      .when(borrow("ada", minutesLater(10)))
      .records(
        { type: "SlotTaken" },
        { type: "SlotBorrowed", until: minutesLater(10), end: minutesLater(30) },
      )
      .answers({ end: minutesLater(30), borrowedUntil: minutesLater(10) });
  });

  test("records the expiry of the user's own ended slot first", () => {
    given(...unused.events, slotTaken("ada"))
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(8)))
      .expires()
      .records(
        { type: "SlotExpired", at: minutesLater(30), slot: 1 },
        { type: "SlotTaken", slot: 2 },
        { type: "SlotBorrowed", slot: 2 },
      );
  });

  test("refuses a user when other users hold all slots", () => {
    given(...unused.events, slotTaken("ada"), slotBorrowed("ada", hoursLater(8)))
      .at(minutesLater(40))
      .when(borrow("bob", hoursLater(2)))
      .refuses(noFreeSlot(1));
  });
});

const borrowEvents = (end: ReturnType<typeof hoursLater>) =>
  [{ type: "SlotTaken" }, { type: "SlotBorrowed", until: end }] as const;

describe("the end date of a borrow", () => {
  const unused = given(licenseInstalled(1, { borrowHours: 24 }));
  const refused = { code: "borrow_until_not_valid", latest: hoursLater(24) } as const;

  test("must be at least one millisecond after now", () => {
    unused
      .at(MONDAY)
      .when(borrow("ada", justBefore(MONDAY)))
      .refuses(refused);
    unused.at(MONDAY).when(borrow("ada", MONDAY)).refuses(refused);
    const oneMsLater = later(MONDAY, 1);
    unused
      .at(MONDAY)
      .when(borrow("ada", oneMsLater))
      .records(...borrowEvents(oneMsLater));
  });

  test("is granted as requested up to the longest borrow", () => {
    unused
      .at(MONDAY)
      .when(borrow("ada", justBefore(hoursLater(24))))
      .records(...borrowEvents(justBefore(hoursLater(24))));
    unused
      .at(MONDAY)
      .when(borrow("ada", hoursLater(24)))
      .records(...borrowEvents(hoursLater(24)));
  });

  test("is cut to the longest borrow when at most 60 s later, for fast client clocks", () => {
    const ahead = later(hoursLater(24), 1);
    unused
      .at(MONDAY)
      .when(borrow("ada", ahead))
      .records(...borrowEvents(hoursLater(24)));
    const withinSkew = later(hoursLater(24), seconds(60));
    unused
      .at(MONDAY)
      .when(borrow("ada", withinSkew))
      .records(...borrowEvents(hoursLater(24)));
  });

  test("is refused when more than 60 s later than the longest borrow", () => {
    unused
      .at(MONDAY)
      .when(borrow("ada", later(hoursLater(24), seconds(60) + 1)))
      .refuses(refused);
  });

  test("cannot be later than the license's end including grace", () => {
    const expiring = given(licenseInstalled(1, { validUntil: hoursLater(6), graceHours: 2 }));
    expiring
      .at(MONDAY)
      .when(borrow("ada"))
      .records(...borrowEvents(hoursLater(8)));
    const withinSkew = later(hoursLater(8), seconds(60));
    expiring
      .at(MONDAY)
      .when(borrow("ada", withinSkew))
      .records(...borrowEvents(hoursLater(8)));
    expiring
      .at(MONDAY)
      .when(borrow("ada", later(withinSkew, 1)))
      .refuses({ code: "borrow_until_not_valid", latest: hoursLater(8) });
  });

  test("is limited by the longest borrow where the license ends later", () => {
    given(licenseInstalled(1, { validUntil: hoursLater(48) }))
      .at(MONDAY)
      .when(borrow("ada", hoursLater(48)))
      .refuses(refused);
  });
});

describe("a license without borrowing", () => {
  test("refuses a borrow by holders and by other users", () => {
    const history = given(licenseInstalled(1, { borrowHours: null }), slotTaken("ada"));
    for (const user of ["ada", "bob"]) {
      history.at(MONDAY).when(borrow(user)).refuses({ code: "license_borrow_not_allowed" });
    }
  });

  test("is skipped in favor of a license of the same product with borrowing", () => {
    given(licenseInstalled(1), licenseInstalled(2, { borrowHours: null }))
      .at(MONDAY)
      .when(borrow("ada"))
      .records({ type: "SlotTaken", license: 1 }, { type: "SlotBorrowed", license: 1 });
  });

  test("refuses a borrow when its longest borrow is zero hours", () => {
    given(licenseInstalled(1, { borrowHours: 0 }))
      .at(MONDAY)
      .when(borrow("ada"))
      .refuses({ code: "license_borrow_not_allowed" });
  });
});

describe("a slot borrowed for eight hours", () => {
  const history = given(
    licenseInstalled(1, { slots: 1 }),
    slotTaken("ada"),
    slotBorrowed("ada", hoursLater(8)),
  );

  test("is refused to others one millisecond before its end, without any heartbeat", () => {
    history
      .at(justBefore(hoursLater(8)))
      .when(register("bob"))
      .refuses(noFreeSlot(1));
  });

  test("is granted to the next user at exactly its end", () => {
    history
      .at(hoursLater(8))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: hoursLater(8), user: "ada" })
      .records({ type: "SlotTaken", user: "bob" });
  });

  test("can be released early by its holder", () => {
    history
      .at(justBefore(hoursLater(8)))
      .when(unregister("ada"))
      .records({ type: "SlotReleased", early: true });
  });

  test("is not an early return when released after the borrow within the timeout", () => {
    history
      .at(minutesLater(479))
      .execute(register("ada"))
      .at(hoursLater(8))
      .when(unregister("ada"))
      .records({ type: "SlotReleased", early: false });
  });

  test("gets a later end by another borrow, or an earlier one as an early return", () => {
    history
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(9)))
      .records({ type: "SlotBorrowed", until: hoursLater(9), end: hoursLater(9), early: false });
    history
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(8)))
      .records({ type: "SlotBorrowed", until: hoursLater(8), early: false });
    history
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(2)))
      .records({ type: "SlotBorrowed", until: hoursLater(2), end: hoursLater(2), early: true });
  });

  test("is not shortened by a borrow without a date after the license allows less", () => {
    history
      .at(hoursLater(1))
      .execute(install(1, { slots: 1, borrowHours: 2 }))
      .at(hoursLater(2))
      .when(borrow("ada", null))
      .records({ type: "SlotBorrowed", until: hoursLater(8), early: false });
  });

  test("is free at its shortened end, and not before", () => {
    const shortened = history.at(hoursLater(1)).execute(borrow("ada", hoursLater(2)));
    shortened
      .at(justBefore(hoursLater(2)))
      .when(register("bob"))
      .refuses(noFreeSlot(1));
    shortened
      .at(hoursLater(2))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: hoursLater(2), user: "ada" })
      .records({ type: "SlotTaken", user: "bob" });
  });
});
