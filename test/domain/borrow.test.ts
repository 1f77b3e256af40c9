import { describe, test } from "bun:test";
import { later, SECOND } from "../../src/domain/time.ts";
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
} from "../support/scenario.ts";

const seconds = (count: number) => count * SECOND;

describe("borrowing", () => {
  const free = given(licenseInstalled(1, { slots: 1, borrowHours: 24 }));

  test("registers the user if needed and holds the slot until the date", () => {
    const contact = { ...CONTACT, hostname: "laptop" };
    const slot = { license: 1, user: "ada", slot: 1 };
    const { info: _info, ...machine } = contact;
    free
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

  test("needs a user", () => {
    const fault = { code: "missing_parameters", fields: ["user"] } as const;
    free.at(MONDAY).when(borrow(null)).refuses(fault);
  });

  test("without a date holds it as long as allowed", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", null))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", until: hoursLater(24) });
  });

  test("by a holder keeps the slot, in a full pool too", () => {
    given(...free.events, slotTaken("ada"))
      .at(minutesLater(5))
      .when(borrow("ada", hoursLater(8)))
      .records({ type: "SlotBorrowed", slot: 1, until: hoursLater(8) })
      .answers({ registeredAt: MONDAY, slotsInUse: 1 });
  });

  test("for less than the timeout leaves the timeout as the end", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", minutesLater(10)))
      .records(
        { type: "SlotTaken" },
        { type: "SlotBorrowed", until: minutesLater(10), end: minutesLater(30) },
      )
      .answers({ end: minutesLater(30), borrowedUntil: minutesLater(10) });
  });

  test("after letting an own slot run out writes that one off first", () => {
    given(...free.events, slotTaken("ada"))
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(8)))
      .expires()
      .records(
        { type: "SlotExpired", at: minutesLater(30), slot: 1 },
        { type: "SlotTaken", slot: 2 },
        { type: "SlotBorrowed", slot: 2 },
      );
  });

  test("is refused in a pool full of others", () => {
    given(...free.events, slotTaken("ada"), slotBorrowed("ada", hoursLater(8)))
      .at(minutesLater(40))
      .when(borrow("bob", hoursLater(2)))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: hoursLater(8) });
  });
});

const until = (end: ReturnType<typeof hoursLater>) =>
  [{ type: "SlotTaken" }, { type: "SlotBorrowed", until: end }] as const;

describe("the date asked for", () => {
  const free = given(licenseInstalled(1, { borrowHours: 24 }));
  const refused = { code: "borrow_until_not_valid", latest: hoursLater(24) } as const;

  test("has to lie after now, by one millisecond at least", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", justBefore(MONDAY)))
      .refuses(refused);
    free.at(MONDAY).when(borrow("ada", MONDAY)).refuses(refused);
    const next = later(MONDAY, 1);
    free
      .at(MONDAY)
      .when(borrow("ada", next))
      .records(...until(next));
  });

  test("is taken as it is up to the cap", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", justBefore(hoursLater(24))))
      .records(...until(justBefore(hoursLater(24))));
    free
      .at(MONDAY)
      .when(borrow("ada", hoursLater(24)))
      .records(...until(hoursLater(24)));
  });

  test("up to 60 s past the cap is granted as the cap, for clocks that run ahead", () => {
    const ahead = later(hoursLater(24), 1);
    free
      .at(MONDAY)
      .when(borrow("ada", ahead))
      .records(...until(hoursLater(24)));
    const skewed = later(hoursLater(24), seconds(60));
    free
      .at(MONDAY)
      .when(borrow("ada", skewed))
      .records(...until(hoursLater(24)));
  });

  test("more than 60 s past the cap is refused, never cut", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", later(hoursLater(24), seconds(60) + 1)))
      .refuses(refused);
  });

  test("cannot pass the license's end, grace included", () => {
    const short = given(licenseInstalled(1, { validUntil: hoursLater(6), graceHours: 2 }));
    short
      .at(MONDAY)
      .when(borrow("ada"))
      .records(...until(hoursLater(8)));
    const skewed = later(hoursLater(8), seconds(60));
    short
      .at(MONDAY)
      .when(borrow("ada", skewed))
      .records(...until(hoursLater(8)));
    short
      .at(MONDAY)
      .when(borrow("ada", later(skewed, 1)))
      .refuses({ code: "borrow_until_not_valid", latest: hoursLater(8) });
  });

  test("is bounded by the cap where the license ends later", () => {
    given(licenseInstalled(1, { validUntil: hoursLater(48) }))
      .at(MONDAY)
      .when(borrow("ada", hoursLater(48)))
      .refuses(refused);
  });
});

describe("a license that does not lend", () => {
  test("refuses, to holders and others alike", () => {
    const history = given(licenseInstalled(1, { borrowHours: null }), slotTaken("ada"));
    for (const user of ["ada", "bob"]) {
      history.at(MONDAY).when(borrow(user)).refuses({ code: "license_borrow_not_allowed" });
    }
  });

  test("is passed over for one of the same product that does", () => {
    given(licenseInstalled(1), licenseInstalled(2, { borrowHours: null }))
      .at(MONDAY)
      .when(borrow("ada"))
      .records({ type: "SlotTaken", license: 1 }, { type: "SlotBorrowed", license: 1 });
  });

  test("lends nothing for zero hours either", () => {
    given(licenseInstalled(1, { borrowHours: 0 }))
      .at(MONDAY)
      .when(borrow("ada"))
      .refuses({ code: "license_borrow_not_allowed" });
  });
});

describe("when ada borrowed until five", () => {
  const history = given(
    licenseInstalled(1, { slots: 1 }),
    slotTaken("ada"),
    slotBorrowed("ada", hoursLater(8)),
  );

  test("nobody gets the slot one millisecond before, although she was never heard of", () => {
    history
      .at(justBefore(hoursLater(8)))
      .when(register("bob"))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: hoursLater(8) });
  });

  test("the next caller gets it at five", () => {
    history
      .at(hoursLater(8))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: hoursLater(8), user: "ada" })
      .records({ type: "SlotTaken", user: "bob" });
  });

  test("she can give it back early", () => {
    history
      .at(justBefore(hoursLater(8)))
      .when(unregister("ada"))
      .records({ type: "SlotReleased", early: true });
  });

  test("given back after the borrow but within the timeout is not early", () => {
    history
      .at(minutesLater(479))
      .execute(register("ada"))
      .at(hoursLater(8))
      .when(unregister("ada"))
      .records({ type: "SlotReleased", early: false });
  });

  test("borrowing again moves the end later, or earlier as an early return", () => {
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

  test("asking for the longest never shortens what a renewed license would lend no more", () => {
    history
      .at(hoursLater(1))
      .execute(install(1, { slots: 1, borrowHours: 2 }))
      .at(hoursLater(2))
      .when(borrow("ada", null))
      .records({ type: "SlotBorrowed", until: hoursLater(8), early: false });
  });

  test("an end moved earlier frees the slot at the new end, and not before", () => {
    const moved = history.at(hoursLater(1)).execute(borrow("ada", hoursLater(2)));
    moved
      .at(justBefore(hoursLater(2)))
      .when(register("bob"))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: hoursLater(2) });
    moved
      .at(hoursLater(2))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: hoursLater(2), user: "ada" })
      .records({ type: "SlotTaken", user: "bob" });
  });
});
