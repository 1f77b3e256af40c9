// The two properties that carry the store: a snapshot is the state, and a replay is the state that
// was serving.
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Value } from "@sinclair/typebox/value";
import type { Command } from "../../src/domain/command.ts";
import type { State } from "../../src/domain/state.ts";
import { later } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { genesisHead, type ChainHead } from "../../src/store/journal.ts";
import { Snapshot, emptyAuditLogEnd } from "../../src/store/snapshot.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "../../src/store/state-rows.ts";
import { StateFile } from "../../src/store/state-file.ts";
import {
  transactCommand,
  dumpStateSorted,
  openSite,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { makeNewSite, makeNextInstall } from "../support/new-site.ts";
import { randomCommandSteps, type CommandStep } from "../support/random-commands.ts";
import { MONDAY } from "../support/scenario.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

/** Licenses come in one after the other, as a vendor would number them. */
const wantedOf = (state: State, command: Command): Command =>
  command.type === "InstallLicense" ? makeNextInstall(state, command) : command;

function lived(steps: readonly CommandStep[]) {
  const state = makeNewSite();
  let now = MONDAY;
  for (const { after, command } of steps) {
    now = later(now, after);
    transact(state, wantedOf(state, command), now);
  }
  return state;
}

const HEAD: ChainHead = { seq: 7, sum: "ab".repeat(32), auditSeq: 5, auditSum: "cd".repeat(32) };

describe("a snapshot", () => {
  test("is the state, whatever happened to it", () => {
    fc.assert(
      fc.property(randomCommandSteps(60), (steps) => {
        const state = lived(steps);
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
      { numRuns: 150 },
    );
  });

  test("comes back from its file, with more rows than are written at once", async () => {
    const steps = fc.sample(randomCommandSteps(40), { numRuns: 1, seed: 7 })[0] ?? [];
    const state = lived(steps);
    for (let place = 0; place < 2_500; place += 1) {
      const done = { at: MONDAY, fingerprint: "f", outcome: { place }, peer: null };
      state.idempotencyRecords.add(`key ${place}`, done);
    }
    const file = new StateFile(realDisk, tempFolder());
    await file.write(encodeSnapshot(state, genesisHead, emptyAuditLogEnd), null);
    const read = await file.read();
    if (read === null) throw new Error("no state");
    expect(dumpStateSorted(decodeSnapshot(read))).toEqual(dumpStateSorted(state));
  });

  test("shares nothing with the state it was made of that the state changes", () => {
    const state = lived(fc.sample(randomCommandSteps(40), { numRuns: 1, seed: 8 })[0] ?? []);
    const snapshot = encodeSnapshot(state, HEAD, emptyAuditLogEnd);
    const copy = dumpStateSorted(decodeSnapshot(snapshot));
    const other = decodeSnapshot(snapshot);
    for (const { counter } of other.licenses.values()) counter.total += 1;
    expect(dumpStateSorted(state)).toEqual(copy);
  });
});

describe("a replay", () => {
  test("is the state that was serving, with and without checkpoints in between", async () => {
    const life = fc.array(
      fc.record({
        steps: randomCommandSteps(12),
        ending: fc.constantFrom("kill", "checkpoint", "stop"),
      }),
      { minLength: 1, maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(life, async (chapters) => {
        let site = await openSite();
        let now = MONDAY;
        for (const { steps, ending } of chapters) {
          for (const { after, command } of steps) {
            now = later(now, after);
            site.clock.now = now;
            const wanted = site.store.peek((state) => wantedOf(state, command));
            const answer = transactCommand(site.store, wanted);
            if (after > 0) await answer;
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
          expect(site.store.health().checkpointError).toBeNull();
        }
        expect((await openAndCloseFolder(copyFolder(site.folder))).state).toEqual(
          await readState(site.store),
        );
      }),
      { numRuns: 40 },
    );
  });
});
