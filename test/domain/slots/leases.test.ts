import { describe, expect, test } from "bun:test";
import { computeLeaseEnd } from "../../../src/domain/slots/leases.ts";
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
} from "../../support/scenario.ts";

const LAPTOP = { nonceDigest: "laptop" };
const TABLET = { nonceDigest: "tablet" };

const leasedElsewhere = {
  code: "leased_elsewhere",
  until: hoursLater(8),
  canReturn: true,
} as const;

const borrowed = given(
  licenseInstalled(1, { slots: 1 }),
  slotTaken("ada"),
  slotBorrowed("ada", hoursLater(8)),
);
const leased = given(...borrowed.events.slice(0, 2), {
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

  test("is leased to no device when it comes without a nonce", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(borrow("ada", hoursLater(8)))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", leasedTo: undefined });
  });

  test("without a device is leased to the next device that borrows", () => {
    borrowed
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(8), LAPTOP))
      .records({ type: "SlotBorrowed", leasedTo: "laptop" });
  });

  test("without a device is leased to the next device that registers", () => {
    borrowed
      .at(hoursLater(1))
      .when(register("ada", LAPTOP))
      .records({ type: "SlotRenewed", leasedTo: "laptop" });
  });

  test("is refused to another device until it ends, on register and on borrow", () => {
    for (const at of [MONDAY, justBefore(hoursLater(8))]) {
      leased.at(at).when(register("ada", TABLET)).refuses(leasedElsewhere);
      leased
        .at(at)
        .when(borrow("ada", hoursLater(9), TABLET))
        .refuses(leasedElsewhere);
      leased
        .at(at)
        .when(borrow("ada", MONDAY, TABLET))
        .refuses(leasedElsewhere);
    }
  });

  test("is refused to another device on a license without early return", () => {
    const noReturn = given(licenseInstalled(1, { earlyReturn: false }), ...leased.events.slice(1));
    noReturn
      .at(hoursLater(1))
      .when(register("ada", TABLET))
      .refuses({ ...leasedElsewhere, canReturn: false });
  });

  test("is refused to another device after the license stopped allowing borrows", () => {
    const withoutBorrowing = licenseInstalled(1, { borrowHours: null }, hoursLater(1));
    given(...leased.events, withoutBorrowing)
      .at(hoursLater(2))
      .when(register("ada", TABLET))
      .refuses(leasedElsewhere);
  });

  test("stays with its device when its end moves, with or without the nonce", () => {
    for (const nonce of [LAPTOP, {}]) {
      leased
        .at(hoursLater(1))
        .when(borrow("ada", hoursLater(9), nonce))
        .records({ type: "SlotBorrowed", until: hoursLater(9), leasedTo: "laptop" });
    }
  });

  test("is renewed for its own device and for a call without a nonce", () => {
    for (const nonce of [LAPTOP, {}]) {
      leased
        .at(hoursLater(1))
        .when(register("ada", nonce))
        .records({ type: "SlotRenewed", leasedTo: undefined });
    }
  });

  test("is leased to a new device after the earlier borrow ended", () => {
    const renewed = leased.at(justBefore(hoursLater(8))).execute(register("ada"));
    renewed
      .at(hoursLater(8))
      .when(borrow("ada", hoursLater(9), TABLET))
      .records({ type: "SlotBorrowed", slot: 1, leasedTo: "tablet" });
    renewed
      .at(hoursLater(8))
      .when(borrow("ada", hoursLater(9)))
      .records({ type: "SlotBorrowed", slot: 1, leasedTo: undefined });
  });

  test("is leased to a new device after the slot was released and taken again", () => {
    leased
      .at(hoursLater(1))
      .execute(unregister("ada"))
      .at(hoursLater(1))
      .when(borrow("ada", hoursLater(9), TABLET))
      .records({ type: "SlotTaken", slot: 2 }, { type: "SlotBorrowed", leasedTo: "tablet" });
  });
});

test("a registration that is not borrowed is bound to no device", () => {
  const registered = given(licenseInstalled(1), slotTaken("ada"));
  for (const nonce of [LAPTOP, TABLET, {}]) {
    registered
      .at(minutesLater(1))
      .when(register("ada", nonce))
      .records({ type: "SlotRenewed", leasedTo: undefined });
  }
});

test("a borrow of one license does not bind the same user's slot of another license", () => {
  const twoLicenses = given(licenseInstalled(2), ...leased.events);
  twoLicenses
    .at(hoursLater(1))
    .when(borrow("ada", hoursLater(9), { ...TABLET, licenseId: 2 }))
    .records({ type: "SlotTaken", license: 2 }, { type: "SlotBorrowed", leasedTo: "tablet" });
});

describe("computeLeaseEnd", () => {
  const lending = terms({ timeoutMinutes: 30, borrowHours: 24 });

  test("ends a lease with the slot where the license allows it", () => {
    expect(computeLeaseEnd(lending, minutesLater(30), MONDAY)).toBe(minutesLater(30));
    expect(computeLeaseEnd(lending, hoursLater(24), MONDAY)).toBe(hoursLater(24));
  });

  test("ends a lease with the license and its grace where the slot lasts longer", () => {
    const expiring = terms({ validUntil: hoursLater(2), graceHours: 1 });
    expect(computeLeaseEnd(expiring, justBefore(hoursLater(3)), MONDAY)).toBe(
      justBefore(hoursLater(3)),
    );
    expect(computeLeaseEnd(expiring, hoursLater(4), MONDAY)).toBe(hoursLater(3));
  });

  test("ends a lease after the longest time the current license grants", () => {
    expect(computeLeaseEnd(lending, hoursLater(48), MONDAY)).toBe(hoursLater(24));
    const notLending = terms({ timeoutMinutes: 30, borrowHours: null });
    expect(computeLeaseEnd(notLending, hoursLater(48), MONDAY)).toBe(minutesLater(30));
  });
});
