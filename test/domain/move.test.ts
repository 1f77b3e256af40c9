import { describe, expect, test } from "bun:test";
import type { Command, MoveAway } from "../../src/domain/command.ts";
import { evolve } from "../../src/domain/evolve.ts";
import type { State } from "../../src/domain/state.ts";
import { HOUR, later, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { viewLicense } from "../../src/domain/views.ts";
import { emptyAuditLogEnd } from "../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/store/state/state-rows.ts";
import { genesisHead } from "../../src/store/journal/journal.ts";
import { answerTo, makeNewSite, makeOpenRequest } from "../support/new-site.ts";
import { install, MONDAY, register, renew } from "../support/scenario.ts";

const MOVE_AWAY: MoveAway = { type: "MoveAway", move: "m1", peer: "local" };

function makeLicensedSite(): State {
  const state = makeNewSite();
  for (const command of [install(1), register("ada")])
    expect(runCommand(state, command)).toBe("ok");
  return state;
}

function runCommand(state: State, command: Command, at: Instant = MONDAY): string {
  const result = transact(state, command, at);
  return result.ok ? "ok" : result.fault.code;
}

function viewFirstLicense(state: State, at: Instant) {
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("license 1 is missing");
  const { refusal, movedUntil } = viewLicense(state, license, at);
  return { refusal, movedUntil };
}

/** The state on the target machine: the same state, on hardware that no license is signed for. */
function moveIn(state: State, at: Instant): State {
  const target = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
  const restore = { lineage: "l", at, seq: 3, replaced: null, moved: true as const };
  evolve(target, { type: "MovedIn", at, restore });
  target.isSignedForThisMachine = () => false;
  return target;
}

describe("the appliance that was moved away", () => {
  test("refuses every command, and answers a repeated move with the first one", () => {
    const state = makeLicensedSite();
    expect(runCommand(state, MOVE_AWAY)).toBe("ok");
    expect(runCommand(state, register("ada"))).toBe("moved_away");
    expect(runCommand(state, register("bob"))).toBe("moved_away");
    expect(runCommand(state, install(2))).toBe("moved_away");
    expect(viewFirstLicense(state, MONDAY)).toEqual({ refusal: "moved_away", movedUntil: null });
    const repeated = transact(state, { ...MOVE_AWAY, move: "m2" }, later(MONDAY, HOUR));
    expect(repeated).toMatchObject({
      ok: true,
      value: { journalLines: [], outcome: { move: "m1", at: MONDAY } },
    });
  });

  test("still refuses commands after a restart", () => {
    const state = makeLicensedSite();
    expect(runCommand(state, MOVE_AWAY)).toBe("ok");
    const restarted = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
    expect(runCommand(restarted, register("ada"))).toBe("moved_away");
  });
});

describe("the appliance that was moved in", () => {
  test("keeps all slots and serves until the grace time of the move ends", () => {
    const state = makeLicensedSite();
    runCommand(state, MOVE_AWAY);
    const { moveGraceHours } = install(1).terms;
    const target = moveIn(state, MONDAY);
    const end = later(MONDAY, moveGraceHours * HOUR);
    expect(runCommand(target, register("ada"))).toBe("ok");
    expect(runCommand(target, register("bob"), later(end, -1))).toBe("ok");
    expect(viewFirstLicense(target, later(end, -1))).toEqual({ refusal: null, movedUntil: end });
    expect(transact(target, register("cyd"), end)).toEqual({
      ok: false,
      fault: { code: "hardware_mismatch", until: end },
    });
    expect(viewFirstLicense(target, end)).toEqual({
      refusal: "hardware_mismatch",
      movedUntil: end,
    });
    target.isSignedForThisMachine = () => true;
    expect(viewFirstLicense(target, end)).toEqual({ refusal: null, movedUntil: null });
  });

  test("gets the full grace time when an earlier move was undone at its origin", () => {
    const state = makeLicensedSite();
    runCommand(state, MOVE_AWAY);
    const restore = { lineage: "l", at: MONDAY, seq: 3, replaced: 3, moved: true as const };
    evolve(state, { type: "MovedIn", at: MONDAY, restore });
    expect(state.restores).toEqual([restore]);
    const graceTime = install(1).terms.moveGraceHours * HOUR;
    const movedAt = later(MONDAY, 2 * graceTime);
    expect(runCommand(state, MOVE_AWAY, movedAt)).toBe("ok");
    const target = moveIn(state, movedAt);
    expect(runCommand(target, register("bob"), later(movedAt, graceTime - 1))).toBe("ok");
    expect(runCommand(target, register("cyd"), later(movedAt, graceTime))).toBe(
      "hardware_mismatch",
    );
  });

  test("does not get more grace time by being moved on", () => {
    const state = makeLicensedSite();
    runCommand(state, MOVE_AWAY);
    const second = moveIn(state, MONDAY);
    const graceTime = install(1).terms.moveGraceHours * HOUR;
    const movedAt = later(MONDAY, graceTime - HOUR);
    expect(runCommand(second, MOVE_AWAY, movedAt)).toBe("ok");
    const third = moveIn(second, movedAt);
    expect(runCommand(third, register("bob"), movedAt)).toBe("ok");
    expect(runCommand(third, register("cyd"), later(MONDAY, graceTime))).toBe("hardware_mismatch");
  });

  test("is settled by a license signed for the new hardware, not by one for the old", () => {
    const state = makeLicensedSite();
    runCommand(state, MOVE_AWAY);
    const target = moveIn(state, MONDAY);
    expect(runCommand(target, renew(1, 3))).toBe("ok");
    expect(target.licenses.get(1)?.movedAt).toBe(MONDAY);
    const openRequest = { ...makeOpenRequest("here"), hardwareId: "d5".repeat(32) };
    target.requests.set("here", openRequest);
    const rebound = renew(1, 4);
    const grant = { ...rebound.grant, hardwareId: openRequest.hardwareId };
    expect(runCommand(target, { ...rebound, grant, answers: answerTo("here") })).toBe("ok");
    expect(target.licenses.get(1)?.movedAt).toBeNull();
  });
});
