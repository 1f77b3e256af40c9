import { describe, test } from "bun:test";
import { later, SECOND } from "../../src/domain/time.ts";
import {
  before,
  borrow,
  borrowed,
  CONTACT,
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

const seconds = (count: number) => count * SECOND;

describe("borrowing", () => {
  const free = given(installed(1, { slots: 1, borrowHours: 24 }));

  test("registers the user if needed and holds the slot until the date", () => {
    const contact = { ...CONTACT, hostname: "laptop" };
    const slot = { license: 1, user: "ada", slot: 1 };
    const { info: _info, ...machine } = contact;
    free
      .at(MONDAY)
      .when(borrow("ada", hours(8), { contact }))
      .records(
        { type: "SlotTaken", ...slot, contact, end: minutes(30) },
        {
          type: "SlotBorrowed",
          ...slot,
          contact: machine,
          until: hours(8),
          end: hours(8),
          early: false,
        },
      )
      .answers({ ...slot, contact, end: hours(8), borrowedUntil: hours(8), slotsInUse: 1 });
  });

  test("needs a user", () => {
    const fault = { code: "missing_parameters", fields: ["user"] } as const;
    free.at(MONDAY).when(borrow(null)).refuses(fault);
  });

  test("without a date holds it as long as allowed", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", null))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", until: hours(24) });
  });

  test("by a holder keeps the slot, in a full pool too", () => {
    given(...free.events, taken("ada"))
      .at(minutes(5))
      .when(borrow("ada", hours(8)))
      .records({ type: "SlotBorrowed", slot: 1, until: hours(8) })
      .answers({ registeredAt: MONDAY, slotsInUse: 1 });
  });

  test("for less than the timeout leaves the timeout as the end", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", minutes(10)))
      .records(
        { type: "SlotTaken" },
        { type: "SlotBorrowed", until: minutes(10), end: minutes(30) },
      )
      .answers({ end: minutes(30), borrowedUntil: minutes(10) });
  });

  test("after letting an own slot run out writes that one off first", () => {
    given(...free.events, taken("ada"))
      .at(hours(1))
      .when(borrow("ada", hours(8)))
      .expires()
      .records(
        { type: "SlotExpired", at: minutes(30), slot: 1 },
        { type: "SlotTaken", slot: 2 },
        { type: "SlotBorrowed", slot: 2 },
      );
  });

  test("is refused in a pool full of others", () => {
    given(...free.events, taken("ada"), borrowed("ada", hours(8)))
      .at(minutes(40))
      .when(borrow("bob", hours(2)))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: hours(8) });
  });
});

const until = (end: ReturnType<typeof hours>) =>
  [{ type: "SlotTaken" }, { type: "SlotBorrowed", until: end }] as const;

describe("the date asked for", () => {
  const free = given(installed(1, { borrowHours: 24 }));
  const refused = { code: "borrow_until_not_valid", latest: hours(24) } as const;

  test("has to lie after now, by one millisecond at least", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", before(MONDAY)))
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
      .when(borrow("ada", before(hours(24))))
      .records(...until(before(hours(24))));
    free
      .at(MONDAY)
      .when(borrow("ada", hours(24)))
      .records(...until(hours(24)));
  });

  test("up to 60 s past the cap is granted as the cap, for clocks that run ahead", () => {
    const ahead = later(hours(24), 1);
    free
      .at(MONDAY)
      .when(borrow("ada", ahead))
      .records(...until(hours(24)));
    const skewed = later(hours(24), seconds(60));
    free
      .at(MONDAY)
      .when(borrow("ada", skewed))
      .records(...until(hours(24)));
  });

  test("more than 60 s past the cap is refused, never cut", () => {
    free
      .at(MONDAY)
      .when(borrow("ada", later(hours(24), seconds(60) + 1)))
      .refuses(refused);
  });

  test("cannot pass the license's end, grace included", () => {
    const short = given(installed(1, { validUntil: hours(6), graceHours: 2 }));
    short
      .at(MONDAY)
      .when(borrow("ada"))
      .records(...until(hours(8)));
    const skewed = later(hours(8), seconds(60));
    short
      .at(MONDAY)
      .when(borrow("ada", skewed))
      .records(...until(hours(8)));
    short
      .at(MONDAY)
      .when(borrow("ada", later(skewed, 1)))
      .refuses({ code: "borrow_until_not_valid", latest: hours(8) });
  });

  test("is bounded by the cap where the license ends later", () => {
    given(installed(1, { validUntil: hours(48) }))
      .at(MONDAY)
      .when(borrow("ada", hours(48)))
      .refuses(refused);
  });
});

describe("a license that does not lend", () => {
  test("refuses, to holders and others alike", () => {
    const history = given(installed(1, { borrowHours: null }), taken("ada"));
    for (const user of ["ada", "bob"]) {
      history.at(MONDAY).when(borrow(user)).refuses({ code: "license_borrow_not_allowed" });
    }
  });

  test("is passed over for one of the same product that does", () => {
    given(installed(1), installed(2, { borrowHours: null }))
      .at(MONDAY)
      .when(borrow("ada"))
      .records({ type: "SlotTaken", license: 1 }, { type: "SlotBorrowed", license: 1 });
  });

  test("lends nothing for zero hours either", () => {
    given(installed(1, { borrowHours: 0 }))
      .at(MONDAY)
      .when(borrow("ada"))
      .refuses({ code: "license_borrow_not_allowed" });
  });
});

describe("when ada borrowed until five", () => {
  const history = given(installed(1, { slots: 1 }), taken("ada"), borrowed("ada", hours(8)));

  test("nobody gets the slot one millisecond before, although she was never heard of", () => {
    history
      .at(before(hours(8)))
      .when(register("bob"))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: hours(8) });
  });

  test("the next caller gets it at five", () => {
    history
      .at(hours(8))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: hours(8), user: "ada" })
      .records({ type: "SlotTaken", user: "bob" });
  });

  test("she can give it back early", () => {
    history
      .at(before(hours(8)))
      .when(unregister("ada"))
      .records({ type: "SlotReleased", early: true });
  });

  test("given back after the borrow but within the timeout is not early", () => {
    history
      .at(minutes(479))
      .did(register("ada"))
      .at(hours(8))
      .when(unregister("ada"))
      .records({ type: "SlotReleased", early: false });
  });

  test("borrowing again moves the end later, or earlier as an early return", () => {
    history
      .at(hours(1))
      .when(borrow("ada", hours(9)))
      .records({ type: "SlotBorrowed", until: hours(9), end: hours(9), early: false });
    history
      .at(hours(1))
      .when(borrow("ada", hours(8)))
      .records({ type: "SlotBorrowed", until: hours(8), early: false });
    history
      .at(hours(1))
      .when(borrow("ada", hours(2)))
      .records({ type: "SlotBorrowed", until: hours(2), end: hours(2), early: true });
  });

  test("asking for the longest never shortens what a renewed license would lend no more", () => {
    history
      .at(hours(1))
      .did(install(1, { slots: 1, borrowHours: 2 }))
      .at(hours(2))
      .when(borrow("ada", null))
      .records({ type: "SlotBorrowed", until: hours(8), early: false });
  });

  test("an end moved earlier frees the slot at the new end, and not before", () => {
    const moved = history.at(hours(1)).did(borrow("ada", hours(2)));
    moved
      .at(before(hours(2)))
      .when(register("bob"))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: hours(2) });
    moved
      .at(hours(2))
      .when(register("bob"))
      .expires({ type: "SlotExpired", at: hours(2), user: "ada" })
      .records({ type: "SlotTaken", user: "bob" });
  });
});
