import { describe, expect, test } from "bun:test";
import { CLOCK_LIMITS } from "../../../src/domain/clock/timekeeper.ts";
import type { Command } from "../../../src/domain/decide.ts";
import { DAY, later } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import {
  borrow,
  consume,
  consumptionTerms,
  dumpState,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  replayEvents,
  unregister,
  type History,
  noFreeSlot,
} from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";

const END = later(MONDAY, 99 * DAY);
const REFUSED = { code: "clock_suspect", behind: CLOCK_LIMITS.behindSuspect } as const;

const SUSPECT_CLOCK = { clockBehind: CLOCK_LIMITS.behindSuspect };

/** Runs a command after this history, with a system clock a day behind the recorded time. */
function runWithSuspectClock({ events }: History, command: Command, at = minutesLater(1)) {
  const state = replayEvents(events);
  const untouched = dumpState(state);
  const result = transact(state, command, contextAt(at, SUSPECT_CLOCK));
  if (!result.ok) {
    expect(dumpState(state)).toEqual(untouched);
    return result.fault;
  }
  return result.value.journalLines.flat().map(({ type }) => type);
}

const expiring = given(
  licenseInstalled(1, {
    validUntil: END,
    consumption: consumptionTerms(),
    features: [featureTerms("view", { floating: { slots: 2, timeoutMinutes: 30 } })],
  }),
)
  .at(MONDAY)
  .execute(register("ada"));

describe("an expiring license while the clock is suspect", () => {
  test("grants no new slot", () => {
    expect(runWithSuspectClock(expiring, register("bob"))).toEqual(REFUSED);
    expect(runWithSuspectClock(expiring, borrow("bob"))).toEqual(REFUSED);
    expect(runWithSuspectClock(expiring, borrow("bob", hoursLater(2)))).toEqual(REFUSED);
    expect(runWithSuspectClock(expiring, register("bob", { licenseId: 1 }))).toEqual(REFUSED);
  });

  test("grants no longer borrow to the holder of a slot", () => {
    expect(runWithSuspectClock(expiring, borrow("ada"))).toEqual(REFUSED);
    const borrowed = expiring.at(MONDAY).execute(borrow("ada", hoursLater(2)));
    expect(runWithSuspectClock(borrowed, borrow("ada", hoursLater(3)))).toEqual(REFUSED);
  });

  test("grants no new slot to a user whose slot expired", () => {
    expect(runWithSuspectClock(expiring, register("ada"), minutesLater(29))).toEqual([
      "SlotRenewed",
    ]);
    expect(runWithSuspectClock(expiring, register("ada"), minutesLater(30))).toEqual(REFUSED);
  });

  test("still grants heartbeats, features, counts and releases to its holders", () => {
    expect(runWithSuspectClock(expiring, register("ada"))).toEqual(["SlotRenewed"]);
    expect(runWithSuspectClock(expiring, registerFeature("ada", "view"))).toEqual(["FeatureTaken"]);
    expect(runWithSuspectClock(expiring, consume(1, { user: "ada" }))).toEqual([
      "ConsumptionAdded",
    ]);
    expect(runWithSuspectClock(expiring, unregister("ada"))).toEqual(["SlotReleased"]);
  });

  test("repeats its answer to an idempotency key", () => {
    const once = { once: { key: "k", fingerprint: "f" } };
    const borrowed = expiring.at(MONDAY).execute(borrow("ada", hoursLater(2), once));
    expect(runWithSuspectClock(borrowed, borrow("ada", hoursLater(2), once))).toEqual([]);
  });

  test("grants no new slot when it has grace hours either", () => {
    const withGrace = given(licenseInstalled(1, { validUntil: END, graceHours: 48 }));
    expect(runWithSuspectClock(withGrace, register("ada"))).toEqual(REFUSED);
  });

  test("names expiry, start or missing borrowing as the reason instead of the clock", () => {
    const expired = given(licenseInstalled(1, { validUntil: MONDAY }));
    expect(runWithSuspectClock(expired, register("ada"))).toMatchObject({
      code: "license_expired",
    });
    const early = given(licenseInstalled(1, { validUntil: END, start: hoursLater(1) }));
    expect(runWithSuspectClock(early, register("ada"))).toMatchObject({
      code: "license_not_active",
    });
    const withoutBorrowing = given(licenseInstalled(1, { validUntil: END, borrowHours: null }));
    expect(runWithSuspectClock(withoutBorrowing, borrow("ada"))).toEqual({
      code: "license_borrow_not_allowed",
    });
  });

  test("names the clock as the reason even when all slots are taken", () => {
    const full = expiring.at(MONDAY).execute(register("bob"));
    expect(runWithSuspectClock(full, register("eve"))).toEqual(REFUSED);
    full.at(minutesLater(1)).when(register("eve")).refuses(noFreeSlot(2));
  });
});

describe("a perpetual license while the clock is suspect", () => {
  const perpetual = given(licenseInstalled(1));

  test("grants slots and borrows", () => {
    expect(runWithSuspectClock(perpetual, register("ada"))).toEqual(["SlotTaken"]);
    expect(runWithSuspectClock(perpetual, borrow("ada"))).toEqual(["SlotTaken", "SlotBorrowed"]);
  });

  test("serves users whom an expiring license of the product must refuse", () => {
    const twoLicenses = given(licenseInstalled(1), licenseInstalled(2, { validUntil: END }));
    twoLicenses
      .at(minutesLater(1))
      .when(register("ada"))
      .records({ type: "SlotTaken", license: 2 });
    expect(runWithSuspectClock(twoLicenses, register("ada"))).toEqual(["SlotTaken"]);
    expect(runWithSuspectClock(twoLicenses, register("ada", { licenseId: 2 }))).toEqual(REFUSED);
  });

  test("names full slots as the reason, not the clock", () => {
    const twoLicenses = given(
      licenseInstalled(1, { slots: 1 }),
      licenseInstalled(2, { validUntil: END }),
    )
      .at(MONDAY)
      .execute(register("ada", { licenseId: 1 }));
    expect(runWithSuspectClock(twoLicenses, register("bob"))).toEqual(noFreeSlot(1));
  });
});
