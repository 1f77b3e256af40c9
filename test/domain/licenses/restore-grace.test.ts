import { describe, expect, test } from "bun:test";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import type { MutableState } from "../../../src/domain/evolve/mutable-state.ts";
import type { Instant } from "../../../src/domain/time.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { hoursLater, licenseInstalled, MONDAY, replayEvents } from "../../support/scenario.ts";

const restoreAt = (state: MutableState, at: Instant, ...serials: number[]): void =>
  evolve(state, {
    type: "Restored",
    at,
    restore: {
      lineage: "l",
      at,
      seq: 3,
      replaced: null,
      grace: serials.map((serial) => ({ license: 1, serial })),
    },
  });

const openSite = (): MutableState => replayEvents([licenseInstalled(1)]) as MutableState;

const installSerial = (state: MutableState, serial: number, hardwareId?: string): void => {
  const event = licenseInstalled(1);
  const grant = { ...event.grant, serial, ...(hardwareId !== undefined && { hardwareId }) };
  evolve(state, { ...event, at: hoursLater(2), grant });
};

const restoredOf = (state: MutableState) => state.licenses.get(1)?.restored;

describe("the grace period of a restore", () => {
  test("begins with the restore, and is kept in the state", () => {
    const state = openSite();
    restoreAt(state, hoursLater(1), 1);
    const saved = encodeSnapshot(state, genesisHead, emptyAuditLogEnd);
    expect(restoredOf(decodeSnapshot(saved) as MutableState)).toEqual({
      at: hoursLater(1),
      serial: 1,
    });
  });

  test("does not begin for a license that the restore does not name", () => {
    const state = openSite();
    restoreAt(state, hoursLater(1));
    expect(restoredOf(state)).toBeUndefined();
  });

  test("is not extended by another restore of the same serial, but begins again for a newer one", () => {
    const state = openSite();
    restoreAt(state, MONDAY, 1);
    restoreAt(state, hoursLater(1), 1);
    expect(restoredOf(state)).toEqual({ at: MONDAY, serial: 1 });
    installSerial(state, 2);
    expect(restoredOf(state)).toEqual({ at: MONDAY, serial: 1 });
    restoreAt(state, hoursLater(3), 2);
    expect(restoredOf(state)).toEqual({ at: hoursLater(3), serial: 2 });
  });

  test("is over with a license for the new hardware", () => {
    const state = openSite();
    restoreAt(state, MONDAY, 1);
    installSerial(state, 2, "d5".repeat(32));
    expect(restoredOf(state)).toBeUndefined();
  });

  test("moves back with a clock that was ahead", () => {
    const state = openSite();
    const [ahead, to] = [hoursLater(200), hoursLater(3)];
    const jump = { from: hoursLater(1), to: ahead, reason: "start" } as const;
    evolve(state, { type: "ClockJumped", at: ahead, ...jump });
    restoreAt(state, hoursLater(201), 1);
    evolve(state, { type: "ClockSetBack", at: to, from: hoursLater(202), to, peer: "local" });
    expect(restoredOf(state)?.at).toBe(hoursLater(2));
  });
});
