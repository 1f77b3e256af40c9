import { describe, expect, test } from "bun:test";
import type { Command } from "../../../src/domain/decide.ts";
import type { MoveAway } from "../../../src/domain/appliance/move.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import type { RuleContext } from "../../../src/domain/model/rule-context.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { HOUR, later, type Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { viewLicense } from "../../../src/domain/views/views.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { answerTo, makeNewSite, makeOpenRequest } from "../../support/new-site.ts";
import { install, MONDAY, register, renew } from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";
import type { MutableState } from "../../../src/domain/evolve/mutable-state.ts";

const MOVE_AWAY: MoveAway = { type: "MoveAway", move: "m1", peer: "local" };

/** A state, and whether its licenses are signed for the machine it is on. */
interface Host {
  readonly state: MutableState;
  readonly isSigned: boolean;
}

function makeLicensedSite(): Host {
  const host = { state: makeNewSite(), isSigned: true };
  for (const command of [install(1), register("ada")]) expect(runCommand(host, command)).toBe("ok");
  return host;
}

const contextOf = ({ isSigned }: Host, at: Instant): RuleContext =>
  contextAt(at, { isSignedForThisMachine: () => isSigned });

function runCommand(host: Host, command: Command, at: Instant = MONDAY): string {
  const result = transact(host.state, command, contextOf(host, at));
  return result.ok ? "ok" : result.fault.code;
}

function viewFirstLicense(host: Host, at: Instant) {
  const license = host.state.licenses.get(1);
  if (license === undefined) throw new Error("license 1 is missing");
  const { refusal, movedUntil } = viewLicense(host.state, license, contextOf(host, at));
  return { refusal, movedUntil };
}

const restartWith = (state: State): MutableState =>
  decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd)) as MutableState;

/** The state on the target machine: the same state, on hardware that no license is signed for. */
function moveIn({ state }: Host, at: Instant): Host {
  const target = restartWith(state);
  const restore = { lineage: "l", at, seq: 3, replaced: null, moved: true as const };
  evolve(target, { type: "MovedIn", at, restore });
  return { state: target, isSigned: false };
}

describe("the appliance that was moved away", () => {
  test("refuses every command, and answers a repeated move with the first one", () => {
    const host = makeLicensedSite();
    expect(runCommand(host, MOVE_AWAY)).toBe("ok");
    expect(runCommand(host, register("ada"))).toBe("moved_away");
    expect(runCommand(host, register("bob"))).toBe("moved_away");
    expect(runCommand(host, install(2))).toBe("moved_away");
    expect(viewFirstLicense(host, MONDAY)).toEqual({ refusal: "moved_away", movedUntil: null });
    const context = contextOf(host, later(MONDAY, HOUR));
    const repeated = transact(host.state, { ...MOVE_AWAY, move: "m2" }, context);
    expect(repeated).toMatchObject({
      ok: true,
      value: { journalLines: [], outcome: { move: "m1", at: MONDAY } },
    });
  });

  test("still refuses commands after a restart", () => {
    const host = makeLicensedSite();
    expect(runCommand(host, MOVE_AWAY)).toBe("ok");
    const state = restartWith(host.state);
    expect(runCommand({ state, isSigned: true }, register("ada"))).toBe("moved_away");
  });
});

describe("the appliance that was moved in", () => {
  test("keeps all slots and serves until the grace time of the move ends", () => {
    const host = makeLicensedSite();
    runCommand(host, MOVE_AWAY);
    const { moveGraceHours } = install(1).terms;
    const target = moveIn(host, MONDAY);
    const end = later(MONDAY, moveGraceHours * HOUR);
    expect(runCommand(target, register("ada"))).toBe("ok");
    expect(runCommand(target, register("bob"), later(end, -1))).toBe("ok");
    expect(viewFirstLicense(target, later(end, -1))).toEqual({ refusal: null, movedUntil: end });
    expect(transact(target.state, register("cyd"), contextOf(target, end))).toEqual({
      ok: false,
      fault: { code: "hardware_mismatch", until: end },
    });
    expect(viewFirstLicense(target, end)).toEqual({
      refusal: "hardware_mismatch",
      movedUntil: end,
    });
    expect(viewFirstLicense({ ...target, isSigned: true }, end)).toEqual({
      refusal: null,
      movedUntil: null,
    });
  });

  test("gets the full grace time when an earlier move was undone at its origin", () => {
    const host = makeLicensedSite();
    runCommand(host, MOVE_AWAY);
    const restore = { lineage: "l", at: MONDAY, seq: 3, replaced: 3, moved: true as const };
    evolve(host.state, { type: "MovedIn", at: MONDAY, restore });
    expect(host.state.restores).toEqual([restore]);
    const graceTime = install(1).terms.moveGraceHours * HOUR;
    const movedAt = later(MONDAY, 2 * graceTime);
    expect(runCommand(host, MOVE_AWAY, movedAt)).toBe("ok");
    const target = moveIn(host, movedAt);
    expect(runCommand(target, register("bob"), later(movedAt, graceTime - 1))).toBe("ok");
    expect(runCommand(target, register("cyd"), later(movedAt, graceTime))).toBe(
      "hardware_mismatch",
    );
  });

  test("does not get more grace time by being moved on", () => {
    const host = makeLicensedSite();
    runCommand(host, MOVE_AWAY);
    const second = moveIn(host, MONDAY);
    const graceTime = install(1).terms.moveGraceHours * HOUR;
    const movedAt = later(MONDAY, graceTime - HOUR);
    expect(runCommand(second, MOVE_AWAY, movedAt)).toBe("ok");
    const third = moveIn(second, movedAt);
    expect(runCommand(third, register("bob"), movedAt)).toBe("ok");
    expect(runCommand(third, register("cyd"), later(MONDAY, graceTime))).toBe("hardware_mismatch");
  });

  test("is settled by a license signed for the new hardware, not by one for the old", () => {
    const host = makeLicensedSite();
    runCommand(host, MOVE_AWAY);
    const target = moveIn(host, MONDAY);
    expect(runCommand(target, renew(1, 3))).toBe("ok");
    expect(target.state.licenses.get(1)?.movedAt).toBe(MONDAY);
    const openRequest = { ...makeOpenRequest("here"), hardwareId: "d5".repeat(32) };
    target.state.requests.set("here", openRequest);
    const rebound = renew(1, 4);
    const grant = { ...rebound.grant, hardwareId: openRequest.hardwareId };
    expect(runCommand(target, { ...rebound, grant, answers: answerTo("here") })).toBe("ok");
    expect(target.state.licenses.get(1)?.movedAt).toBeNull();
  });
});
