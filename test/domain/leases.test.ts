import { describe, expect, test } from "bun:test";
import { computeLeaseEnd } from "../../src/domain/leases.ts";
import {
  before,
  borrow,
  borrowed,
  given,
  hours,
  installed,
  minutes,
  MONDAY,
  register,
  taken,
  terms,
  unregister,
} from "../support/scenario.ts";

const LAPTOP = { nonceDigest: "laptop" };
const TABLET = { nonceDigest: "tablet" };

const elsewhere = { code: "leased_elsewhere", until: hours(8), canReturn: true } as const;

const lent = given(installed(1, { slots: 1 }), taken("ada"), borrowed("ada", hours(8)));
const leased = given(...lent.events.slice(0, 2), {
  ...borrowed("ada", hours(8)),
  leasedTo: "laptop",
});

describe("a borrow", () => {
  test("is leased to the device whose nonce comes with it", () => {
    given(installed(1))
      .at(MONDAY)
      .when(borrow("ada", hours(8), LAPTOP))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", leasedTo: "laptop" });
  });

  test("without a nonce is leased to no device", () => {
    given(installed(1))
      .at(MONDAY)
      .when(borrow("ada", hours(8)))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", leasedTo: undefined });
  });

  test("that is leased to no device is leased to the next one that borrows", () => {
    lent
      .at(hours(1))
      .when(borrow("ada", hours(8), LAPTOP))
      .records({ type: "SlotBorrowed", leasedTo: "laptop" });
  });

  test("that is leased to no device is leased to the next one that registers", () => {
    lent
      .at(hours(1))
      .when(register("ada", LAPTOP))
      .records({ type: "SlotRenewed", leasedTo: "laptop" });
  });

  test("is refused to another device while it lasts, whatever it asks for", () => {
    for (const at of [MONDAY, before(hours(8))]) {
      leased.at(at).when(register("ada", TABLET)).refuses(elsewhere);
      leased
        .at(at)
        .when(borrow("ada", hours(9), TABLET))
        .refuses(elsewhere);
      leased
        .at(at)
        .when(borrow("ada", MONDAY, TABLET))
        .refuses(elsewhere);
    }
  });

  test("is refused to another device where the license allows no early return, too", () => {
    const kept = given(installed(1, { earlyReturn: false }), ...leased.events.slice(1));
    kept
      .at(hours(1))
      .when(register("ada", TABLET))
      .refuses({ ...elsewhere, canReturn: false });
  });

  test("is refused to another device although the license lends no more since", () => {
    const closed = installed(1, { borrowHours: null }, hours(1));
    given(...leased.events, closed)
      .at(hours(2))
      .when(register("ada", TABLET))
      .refuses(elsewhere);
  });

  test("stays with its device when the end moves, with its nonce or without one", () => {
    for (const differing of [LAPTOP, {}]) {
      leased
        .at(hours(1))
        .when(borrow("ada", hours(9), differing))
        .records({ type: "SlotBorrowed", until: hours(9), leasedTo: "laptop" });
    }
  });

  test("is renewed for its own device, and without a nonce, as ever", () => {
    for (const differing of [LAPTOP, {}]) {
      leased
        .at(hours(1))
        .when(register("ada", differing))
        .records({ type: "SlotRenewed", leasedTo: undefined });
    }
  });

  test("after one that ended is leased anew", () => {
    const kept = leased.at(before(hours(8))).did(register("ada"));
    kept
      .at(hours(8))
      .when(borrow("ada", hours(9), TABLET))
      .records({ type: "SlotBorrowed", slot: 1, leasedTo: "tablet" });
    kept
      .at(hours(8))
      .when(borrow("ada", hours(9)))
      .records({ type: "SlotBorrowed", slot: 1, leasedTo: undefined });
  });

  test("of a slot that was given back and taken again is leased anew", () => {
    leased
      .at(hours(1))
      .did(unregister("ada"))
      .at(hours(1))
      .when(borrow("ada", hours(9), TABLET))
      .records({ type: "SlotTaken", slot: 2 }, { type: "SlotBorrowed", leasedTo: "tablet" });
  });
});

test("a registration that is not borrowed is leased to any device, and to none for good", () => {
  const held = given(installed(1), taken("ada"));
  for (const differing of [LAPTOP, TABLET, {}]) {
    held
      .at(minutes(1))
      .when(register("ada", differing))
      .records({ type: "SlotRenewed", leasedTo: undefined });
  }
});

test("a borrow of one license says nothing of the same user's slot of another one", () => {
  const both = given(installed(2), ...leased.events);
  both
    .at(hours(1))
    .when(borrow("ada", hours(9), { ...TABLET, licenseId: 2 }))
    .records({ type: "SlotTaken", license: 2 }, { type: "SlotBorrowed", leasedTo: "tablet" });
});

describe("the lease of a slot ends", () => {
  const lending = terms({ timeoutMinutes: 30, borrowHours: 24 });

  test("with the slot, where the license allows it", () => {
    expect(computeLeaseEnd(lending, minutes(30), MONDAY)).toBe(minutes(30));
    expect(computeLeaseEnd(lending, hours(24), MONDAY)).toBe(hours(24));
  });

  test("with the license, grace included, where the slot lasts longer", () => {
    const ending = terms({ validUntil: hours(2), graceHours: 1 });
    expect(computeLeaseEnd(ending, before(hours(3)), MONDAY)).toBe(before(hours(3)));
    expect(computeLeaseEnd(ending, hours(4), MONDAY)).toBe(hours(3));
  });

  test("after the longest time the license grants now, where the borrow began under another one", () => {
    expect(computeLeaseEnd(lending, hours(48), MONDAY)).toBe(hours(24));
    const notLending = terms({ timeoutMinutes: 30, borrowHours: null });
    expect(computeLeaseEnd(notLending, hours(48), MONDAY)).toBe(minutes(30));
  });
});
