import { describe, expect, test } from "bun:test";
import type { Command, MoveAway } from "../../src/domain/command.ts";
import { evolve } from "../../src/domain/evolve.ts";
import type { State } from "../../src/domain/state.ts";
import { HOUR, later, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { viewLicense } from "../../src/domain/views.ts";
import { emptyAuditLogEnd } from "../../src/store/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/store/state-rows.ts";
import { genesisHead } from "../../src/store/journal.ts";
import { answerTo, makeNewSite, makeOpenRequest } from "../support/new-site.ts";
import { install, MONDAY, register, renew } from "../support/scenario.ts";

const AWAY: MoveAway = { type: "MoveAway", move: "m1", peer: "local" };

function site(): State {
  const state = makeNewSite();
  for (const command of [install(1), register("ada")]) expect(act(state, command)).toBe("ok");
  return state;
}

function act(state: State, command: Command, at: Instant = MONDAY): string {
  const done = transact(state, command, at);
  return done.ok ? "ok" : done.fault.code;
}

function viewed(state: State, at: Instant) {
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("license 1 is missing");
  const { refusal, movedUntil } = viewLicense(state, license, at);
  return { refusal, movedUntil };
}

/** What arrives elsewhere: the same state, on hardware that no license was signed for. */
function arrived(state: State, at: Instant): State {
  const other = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
  const restore = { lineage: "l", at, seq: 3, replaced: null, moved: true as const };
  evolve(other, { type: "MovedIn", at, restore });
  other.isSignedForThisMachine = () => false;
  return other;
}

describe("where it left", () => {
  test("nothing is done any more, and asked again it is the same move", () => {
    const state = site();
    expect(act(state, AWAY)).toBe("ok");
    expect(act(state, register("ada"))).toBe("moved_away");
    expect(act(state, register("bob"))).toBe("moved_away");
    expect(act(state, install(2))).toBe("moved_away");
    expect(viewed(state, MONDAY)).toEqual({ refusal: "moved_away", movedUntil: null });
    const again = transact(state, { ...AWAY, move: "m2" }, later(MONDAY, HOUR));
    expect(again).toMatchObject({
      ok: true,
      value: { journalLines: [], outcome: { move: "m1", at: MONDAY } },
    });
  });

  test("that is known after a restart", () => {
    const state = site();
    expect(act(state, AWAY)).toBe("ok");
    const restarted = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
    expect(act(restarted, register("ada"))).toBe("moved_away");
  });
});

describe("where it came to", () => {
  test("everybody has their slots, and it serves for the time a move is granted", () => {
    const state = site();
    act(state, AWAY);
    const { moveGraceHours } = install(1).terms;
    const other = arrived(state, MONDAY);
    const end = later(MONDAY, moveGraceHours * HOUR);
    expect(act(other, register("ada"))).toBe("ok");
    expect(act(other, register("bob"), later(end, -1))).toBe("ok");
    expect(viewed(other, later(end, -1))).toEqual({ refusal: null, movedUntil: end });
    expect(transact(other, register("cyd"), end)).toEqual({
      ok: false,
      fault: { code: "hardware_mismatch", until: end },
    });
    expect(viewed(other, end)).toEqual({ refusal: "hardware_mismatch", movedUntil: end });
    other.isSignedForThisMachine = () => true;
    expect(viewed(other, end)).toEqual({ refusal: null, movedUntil: null });
  });

  test("a move that was called off where it began leaves the next one all of its time", () => {
    const state = site();
    act(state, AWAY);
    const restore = { lineage: "l", at: MONDAY, seq: 3, replaced: 3, moved: true as const };
    evolve(state, { type: "MovedIn", at: MONDAY, restore });
    expect(state.restores).toEqual([restore]);
    const grace = install(1).terms.moveGraceHours * HOUR;
    const late = later(MONDAY, 2 * grace);
    expect(act(state, AWAY, late)).toBe("ok");
    const other = arrived(state, late);
    expect(act(other, register("bob"), later(late, grace - 1))).toBe("ok");
    expect(act(other, register("cyd"), later(late, grace))).toBe("hardware_mismatch");
  });

  test("moving on does not make that time longer", () => {
    const state = site();
    act(state, AWAY);
    const second = arrived(state, MONDAY);
    const grace = install(1).terms.moveGraceHours * HOUR;
    const late = later(MONDAY, grace - HOUR);
    expect(act(second, AWAY, late)).toBe("ok");
    const third = arrived(second, late);
    expect(act(third, register("bob"), late)).toBe("ok");
    expect(act(third, register("cyd"), later(MONDAY, grace))).toBe("hardware_mismatch");
  });

  test("a license signed for the new hardware ends the move; one signed for the old does not", () => {
    const state = site();
    act(state, AWAY);
    const other = arrived(state, MONDAY);
    expect(act(other, renew(1, 3))).toBe("ok");
    expect(other.licenses.get(1)?.movedAt).toBe(MONDAY);
    const asked = { ...makeOpenRequest("here"), hardwareId: "d5".repeat(32) };
    other.requests.set("here", asked);
    const rebound = renew(1, 4);
    const grant = { ...rebound.grant, hardwareId: asked.hardwareId };
    expect(act(other, { ...rebound, grant, answers: answerTo("here") })).toBe("ok");
    expect(other.licenses.get(1)?.movedAt).toBeNull();
  });
});
