import { describe, expect, test } from "bun:test";
import { CLOCK_LIMITS } from "../../src/domain/timekeeper.ts";
import type { Command } from "../../src/domain/command.ts";
import { DAY, later } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
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
} from "../support/scenario.ts";

const END = later(MONDAY, 99 * DAY);
const REFUSED = { code: "clock_suspect", behind: CLOCK_LIMITS.behindSuspect } as const;

/** The same history on a machine whose clock is a day behind what is on record. */
function suspected({ events }: History, command: Command, at = minutesLater(1)) {
  const state = replayEvents(events);
  state.clockBehind = CLOCK_LIMITS.behindSuspect;
  const untouched = dumpState(state);
  const result = transact(state, command, at);
  if (!result.ok) {
    expect(dumpState(state)).toEqual(untouched);
    return result.fault;
  }
  return result.value.journalLines.flat().map(({ type }) => type);
}

const dated = given(
  licenseInstalled(1, {
    validUntil: END,
    consumption: consumptionTerms(),
    features: [featureTerms("view", { floating: { slots: 2, timeoutMinutes: 30 } })],
  }),
)
  .at(MONDAY)
  .execute(register("ada"));

describe("while the clock is suspect, a license with an end", () => {
  test("is not lent anew", () => {
    expect(suspected(dated, register("bob"))).toEqual(REFUSED);
    expect(suspected(dated, borrow("bob"))).toEqual(REFUSED);
    expect(suspected(dated, borrow("bob", hoursLater(2)))).toEqual(REFUSED);
    expect(suspected(dated, register("bob", { licenseId: 1 }))).toEqual(REFUSED);
  });

  test("is not lent for longer to whoever holds a slot", () => {
    expect(suspected(dated, borrow("ada"))).toEqual(REFUSED);
    const away = dated.at(MONDAY).execute(borrow("ada", hoursLater(2)));
    expect(suspected(away, borrow("ada", hoursLater(3)))).toEqual(REFUSED);
  });

  test("is not lent again to whoever let it run out", () => {
    expect(suspected(dated, register("ada"), minutesLater(29))).toEqual(["SlotRenewed"]);
    expect(suspected(dated, register("ada"), minutesLater(30))).toEqual(REFUSED);
  });

  test("keeps those who hold a slot: heartbeats, features, counts and releases go on", () => {
    expect(suspected(dated, register("ada"))).toEqual(["SlotRenewed"]);
    expect(suspected(dated, registerFeature("ada", "view"))).toEqual(["FeatureTaken"]);
    expect(suspected(dated, consume(1, { user: "ada" }))).toEqual(["ConsumptionAdded"]);
    expect(suspected(dated, unregister("ada"))).toEqual(["SlotReleased"]);
  });

  test("repeats what it answered under a key", () => {
    const once = { once: { key: "k", fingerprint: "f" } };
    const away = dated.at(MONDAY).execute(borrow("ada", hoursLater(2), once));
    expect(suspected(away, borrow("ada", hoursLater(2), once))).toEqual([]);
  });

  test("that has grace hours has an end all the same", () => {
    const grace = given(licenseInstalled(1, { validUntil: END, graceHours: 48 }));
    expect(suspected(grace, register("ada"))).toEqual(REFUSED);
  });

  test("that is over, not begun, or not lent at all says so instead", () => {
    const over = given(licenseInstalled(1, { validUntil: MONDAY }));
    expect(suspected(over, register("ada"))).toMatchObject({ code: "license_expired" });
    const early = given(licenseInstalled(1, { validUntil: END, start: hoursLater(1) }));
    expect(suspected(early, register("ada"))).toMatchObject({ code: "license_not_active" });
    const kept = given(licenseInstalled(1, { validUntil: END, borrowHours: null }));
    expect(suspected(kept, borrow("ada"))).toEqual({ code: "license_borrow_not_allowed" });
  });

  test("is told from a full one only by the clock", () => {
    const full = dated.at(MONDAY).execute(register("bob"));
    expect(suspected(full, register("eve"))).toEqual(REFUSED);
    full
      .at(minutesLater(1))
      .when(register("eve"))
      .refuses({
        code: "floating_not_available",
        slots: 2,
        nextFree: minutesLater(30),
      });
  });
});

describe("while the clock is suspect, a perpetual license", () => {
  const perpetual = given(licenseInstalled(1));

  test("is lent as ever", () => {
    expect(suspected(perpetual, register("ada"))).toEqual(["SlotTaken"]);
    expect(suspected(perpetual, borrow("ada"))).toEqual(["SlotTaken", "SlotBorrowed"]);
  });

  test("takes whom the dated one beside it may not", () => {
    const both = given(licenseInstalled(1), licenseInstalled(2, { validUntil: END }));
    both.at(minutesLater(1)).when(register("ada")).records({ type: "SlotTaken", license: 2 });
    expect(suspected(both, register("ada"))).toEqual(["SlotTaken"]);
    expect(suspected(both, register("ada", { licenseId: 2 }))).toEqual(REFUSED);
  });

  test("that is full says so, and not that the clock is wrong", () => {
    const both = given(licenseInstalled(1, { slots: 1 }), licenseInstalled(2, { validUntil: END }))
      .at(MONDAY)
      .execute(register("ada", { licenseId: 1 }));
    expect(suspected(both, register("bob"))).toEqual({
      code: "floating_not_available",
      slots: 1,
      nextFree: minutesLater(30),
    });
  });
});
