// The two properties on which the store relies: a snapshot restores exactly the state, and a replay
// produces exactly the state that was being served.
import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { Command } from "../../../src/domain/decide.ts";
import { listReservations } from "../../../src/domain/rules/judge-claim.ts";
import { later } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { genesisHead, type ChainHead } from "../../../src/store/journal/journal.ts";
import { Snapshot, emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "../../../src/store/state/state-rows.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import {
  transactCommand,
  dumpStateSorted,
  openSite,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { makeNewSite } from "../../support/new-site.ts";
import {
  makeStepCommand,
  randomCommandSteps,
  type CommandStep,
} from "../../support/random-commands.ts";
import {
  featureTerms,
  install,
  MONDAY,
  register,
  registerFeature,
} from "../../support/scenario.ts";
import { placeFacts, takePlace } from "../../support/queue-commands.ts";
import { applyRules, group, poolRules, reserve, ruleSet } from "../../support/rule-sets.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";
import { contextAt } from "../../support/rule-context.ts";
import * as fc from "fast-check";
import type { MutableState } from "../../../src/domain/evolve/mutable-state.ts";

function stateAfter(steps: readonly CommandStep[]) {
  const state = makeNewSite();
  let now = MONDAY;
  for (const step of steps) {
    now = later(now, step.after);
    transact(state, makeStepCommand(step, state, now), contextAt(now));
  }
  return state;
}

const HEAD: ChainHead = { seq: 7, sum: "ab".repeat(32), auditSeq: 5, auditSum: "cd".repeat(32) };

describe("snapshot", () => {
  test("restores exactly the state after any sequence of commands", () => {
    fc.assert(
      fc.property(randomCommandSteps(60), (steps) => {
        const state = stateAfter(steps);
        const snapshot = encodeSnapshot(state, HEAD, {
          ...emptyAuditLogEnd,
          file: "2026-03.jsonl",
          length: 9,
        });
        const read: unknown = JSON.parse(JSON.stringify(snapshot));
        if (!Value.Check(Snapshot, read)) throw new Error("not the shape of a state");
        expect(dumpStateSorted(decodeSnapshot(read))).toEqual(dumpStateSorted(state));
        expect(headOf(read)).toEqual(HEAD);
        expect(read.audit).toMatchObject({ file: "2026-03.jsonl", length: 9 });
      }),
      { numRuns: 50 },
    );
  });

  test("restores the logins of holders and of waiting users, and recalled reservations", () => {
    const floating = { slots: 1, timeoutMinutes: 30 };
    const identity = { login: "ada", certificate: null };
    const staff = group("staff", { logins: ["ada"] });
    const reservations = [reserve("staff", 2, "lend")];
    const features = [featureTerms("mesh", { floating })];
    const commands: readonly Command[] = [
      install(1, { slots: 2, features }),
      applyRules(ruleSet([staff], poolRules("cad", { reservations }))),
      register("ada", { identity }),
      registerFeature("ada", "mesh", { identity }),
      register("eve"),
      takePlace("ada#2", { facts: placeFacts({ login: "ada" }) }),
      { type: "RecallReservation", product: "cad", feature: null, group: "staff" },
    ];
    const state = makeNewSite();
    for (const command of commands) {
      expect(transact(state, command, contextAt(MONDAY)).ok).toBe(true);
    }
    const read = JSON.parse(JSON.stringify(encodeSnapshot(state, HEAD, emptyAuditLogEnd)));
    if (!Value.Check(Snapshot, read)) throw new Error("not the shape of a state");
    const restored = decodeSnapshot(read);
    expect(dumpStateSorted(restored)).toEqual(dumpStateSorted(state));
    const [license] = restored.licenses.values();
    expect(license?.pool.get("ada")?.identity).toEqual(identity);
    expect(license?.features.get("mesh")?.pool.get("ada")?.identity).toEqual(identity);
    expect(restored.recalls.size).toBe(1);
    const pool = { product: "cad", feature: null };
    expect(listReservations(restored, pool, MONDAY)).toMatchObject([
      { group: "staff", idleSlots: 1, acting: "keep" },
    ]);
  });

  test("is read back from its file with more rows than one write contains", async () => {
    const steps = fc.sample(randomCommandSteps(40), { numRuns: 1, seed: 7 })[0] ?? [];
    const state = stateAfter(steps);
    for (let index = 0; index < 2_500; index += 1) {
      const record = { at: MONDAY, fingerprint: "f", outcome: { index }, peer: "10.0.0.1" };
      state.idempotencyRecords.add(`key ${index}`, record);
    }
    const file = new StateFile(realDisk, tempFolder());
    await file.write(encodeSnapshot(state, genesisHead, emptyAuditLogEnd), null);
    const read = await file.read();
    if (read === null) throw new Error("no state");
    expect(dumpStateSorted(decodeSnapshot(read))).toEqual(dumpStateSorted(state));
  });

  test("shares no changing object with the state it was made of", () => {
    const state = stateAfter(fc.sample(randomCommandSteps(40), { numRuns: 1, seed: 8 })[0] ?? []);
    const snapshot = encodeSnapshot(state, HEAD, emptyAuditLogEnd);
    const copy = dumpStateSorted(decodeSnapshot(snapshot));
    const other = decodeSnapshot(snapshot) as MutableState;
    for (const { counter } of other.licenses.values()) counter.total += 1;
    expect(dumpStateSorted(state)).toEqual(copy);
  });
});

describe("replay", () => {
  test("produces the state that was served, with and without checkpoints in between", async () => {
    const randomPhases = fc.array(
      fc.record({
        steps: randomCommandSteps(12),
        ending: fc.constantFrom("kill", "checkpoint", "stop"),
      }),
      { minLength: 1, maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(randomPhases, async (phases) => {
        let site = await openSite();
        let now = MONDAY;
        for (const { steps, ending } of phases) {
          for (const step of steps) {
            now = later(now, step.after);
            site.clock.now = now;
            const command = site.store.peek((state) => makeStepCommand(step, state, now));
            const answer = transactCommand(site.store, command);
            if (step.after > 0) await answer;
          }
          const state = await readState(site.store);
          const copy = copyFolder(site.folder);
          expect(await openAndCloseFolder(copy)).toMatchObject({ state, notes: [] });
          if (ending === "checkpoint") await site.store.checkpoint();
          else {
            if (ending === "stop") await site.stop();
            site = await openSite({ folder: ending === "stop" ? site.folder : copy });
            site.clock.now = now;
          }
          expect(await readState(site.store)).toEqual(state);
          expect(site.store.status().checkpointError).toBeNull();
        }
        expect((await openAndCloseFolder(copyFolder(site.folder))).state).toEqual(
          await readState(site.store),
        );
      }),
      { numRuns: 20 },
    );
  });
});
