import { describe, expect, test } from "bun:test";
import { computeLeaseEnd } from "../../src/domain/leases.ts";
import {
  justBefore,
  borrow,
  slotBorrowed,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  slotTaken,
  terms,
  unregister,
} from "../support/scenario.ts";

const LAPTOP = { nonceDigest: "laptop" };
const TABLET = { nonceDigest: "tablet" };

const elsewhere = { code: "leased_elsewhere", until: hoursLater(8), canReturn: true } as const;

const lent = given(
  licenseInstalled(1, { slots: 1 }),
  slotTaken("ada"),
  slotBorrowed("ada", hoursLater(8)),
);
const leased = given(...lent.events.slice(0, 2), {
  ...slotBorrowed("ada", hoursLater(8)),
  leasedTo: "laptop",
});

describe("a borrow", () => {
  test("is leased to the device whose nonce comes with it", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(borrow("ada", hoursLater(8), LAPTOP))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", leasedTo: "laptop" });
  });

  test("without a nonce is leased to no device", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(borrow("ada", hoursLater(8)))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", leasedTo: undefined });
  });

  test("that is leased to no device is leased to the next one that borrows", () => {
    lent
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(8), LAPTOP))
      .records({ type: "SlotBorrowed", leasedTo: "laptop" });
  });

  test("that is leased to no device is leased to the next one that registers", () => {
    lent
      .at(hoursLater(1))
      .when(register("ada", LAPTOP))
      .records({ type: "SlotRenewed", leasedTo: "laptop" });
  });

  test("is refused to another device while it lasts, whatever it asks for", () => {
    for (const at of [MONDAY, justBefore(hoursLater(8))]) {
      leased.at(at).when(register("ada", TABLET)).refuses(elsewhere);
      leased
        .at(at)
        .when(borrow("ada", hoursLater(9), TABLET))
        .refuses(elsewhere);
      leased
        .at(at)
        .when(borrow("ada", MONDAY, TABLET))
        .refuses(elsewhere);
    }
  });

  test("is refused to another device where the license allows no early return, too", () => {
    const kept = given(licenseInstalled(1, { earlyReturn: false }), ...leased.events.slice(1));
    kept
      .at(hoursLater(1))
      .when(register("ada", TABLET))
      .refuses({ ...elsewhere, canReturn: false });
  });

  test("is refused to another device although the license lends no more since", () => {
    const closed = licenseInstalled(1, { borrowHours: null }, hoursLater(1));
    given(...leased.events, closed)
      .at(hoursLater(2))
      .when(register("ada", TABLET))
      .refuses(elsewhere);
  });

  test("stays with its device when the end moves, with its nonce or without one", () => {
    for (const differing of [LAPTOP, {}]) {
      leased
        .at(hoursLater(1))
        .when(borrow("ada", hoursLater(9), differing))
        .records({ type: "SlotBorrowed", until: hoursLater(9), leasedTo: "laptop" });
    }
  });

  test("is renewed for its own device, and without a nonce, as ever", () => {
    for (const differing of [LAPTOP, {}]) {
      leased
        .at(hoursLater(1))
        .when(register("ada", differing))
        .records({ type: "SlotRenewed", leasedTo: undefined });
    }
  });

  test("after one that ended is leased anew", () => {
    const kept = leased.at(justBefore(hoursLater(8))).execute(register("ada"));
    kept
      .at(hoursLater(8))
      .when(borrow("ada", hoursLater(9), TABLET))
      .records({ type: "SlotBorrowed", slot: 1, leasedTo: "tablet" });
    kept
      .at(hoursLater(8))
      .when(borrow("ada", hoursLater(9)))
      .records({ type: "SlotBorrowed", slot: 1, leasedTo: undefined });
  });

  test("of a slot that was given back and taken again is leased anew", () => {
    leased
      .at(hoursLater(1))
      .execute(unregister("ada"))
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(9), TABLET))
      .records({ type: "SlotTaken", slot: 2 }, { type: "SlotBorrowed", leasedTo: "tablet" });
  });
});

test("a registration that is not borrowed is leased to any device, and to none for good", () => {
  const held = given(licenseInstalled(1), slotTaken("ada"));
  for (const differing of [LAPTOP, TABLET, {}]) {
    held
      .at(minutesLater(1))
      .when(register("ada", differing))
      .records({ type: "SlotRenewed", leasedTo: undefined });
  }
});

test("a borrow of one license says nothing of the same user's slot of another one", () => {
  const both = given(licenseInstalled(2), ...leased.events);
  both
    .at(hoursLater(1))
    .when(borrow("ada", hoursLater(9), { ...TABLET, licenseId: 2 }))
    .records({ type: "SlotTaken", license: 2 }, { type: "SlotBorrowed", leasedTo: "tablet" });
});

describe("the lease of a slot ends", () => {
  const lending = terms({ timeoutMinutes: 30, borrowHours: 24 });

  test("with the slot, where the license allows it", () => {
    expect(computeLeaseEnd(lending, minutesLater(30), MONDAY)).toBe(minutesLater(30));
    expect(computeLeaseEnd(lending, hoursLater(24), MONDAY)).toBe(hoursLater(24));
  });

  test("with the license, grace included, where the slot lasts longer", () => {
    const ending = terms({ validUntil: hoursLater(2), graceHours: 1 });
    expect(computeLeaseEnd(ending, justBefore(hoursLater(3)), MONDAY)).toBe(
      justBefore(hoursLater(3)),
    );
    expect(computeLeaseEnd(ending, hoursLater(4), MONDAY)).toBe(hoursLater(3));
  });

  test("after the longest time the license grants now, where the borrow began under another one", () => {
    expect(computeLeaseEnd(lending, hoursLater(48), MONDAY)).toBe(hoursLater(24));
    const notLending = terms({ timeoutMinutes: 30, borrowHours: null });
    expect(computeLeaseEnd(notLending, hoursLater(48), MONDAY)).toBe(minutesLater(30));
  });
});
