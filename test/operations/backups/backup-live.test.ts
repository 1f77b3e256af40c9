// Backups of a folder that a server is using. They do not involve the server, and contain every
// change that it acknowledged before they began.
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { makeBackup } from "../../../src/operations/backups/backup.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  openSiteWithKey,
  readBackupState,
  checkIdentity,
  checkpointKeepingMonths,
  openSiteWithHistory,
  newBackupPath,
  catchRefusal,
} from "../../support/backup-site.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactCommand,
  dumpStateSorted,
  unwrap,
  type StateDump,
} from "../../support/licensed-store.ts";
import { makeChangingDisk, captureStages } from "../../support/changing-disk.ts";
import { consume, MONDAY, register, unregister, utc } from "../../support/scenario.ts";

const makeSiteBackup = (folder: string, out: string, disk = realDisk) =>
  makeBackup(disk, folder, out, MONDAY, { identity: checkIdentity });

/** Runs commands of one line each, and stores the state after each line by its number. */
async function runCommands(
  store: Store,
  states: Map<number, StateDump>,
  user: string,
): Promise<void> {
  for (const command of [register(user), consume(1), unregister(user)]) {
    const before = store.status().seq;
    const answer = transactCommand(store, command);
    const { seq } = store.status();
    expect(seq).toBe(before + 1);
    states.set(seq, store.peek(dumpStateSorted));
    unwrap(await answer);
  }
}

describe("backups during commands and checkpoints in the same process", () => {
  test("contain every change that was acknowledged before they began", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    const states = new Map<number, StateDump>();
    const backups: Promise<void>[] = [];
    for (let round = 0; round < 40; round += 1) {
      clock.now = utc(`2026-0${3 + (round >> 3)}-01T00:00:00Z`);
      const acknowledgedSeq = store.status().seq;
      await runCommands(store, states, `user ${round}`);
      const out = newBackupPath();
      const backUpAndCheck = async (): Promise<void> => {
        const { manifest } = await makeSiteBackup(folder, out);
        const backedUp = await readBackupState(out);
        expect(backedUp.seq).toBe(manifest.seq);
        expect(backedUp.seq).toBeGreaterThanOrEqual(acknowledgedSeq + 3);
        expect(backedUp.state).toEqual(states.get(backedUp.seq) as StateDump);
      };
      backups.push(backUpAndCheck());
      if (round % 3 === 0) void store.checkpoint();
    }
    await Promise.all(backups);
    expect(store.status().checkpointError).toBeNull();
  });
});

/** Five months of use of one folder, with a copy of the folder before each change to it. */
async function recordStages() {
  const disk = new FaultyDisk();
  disk.hasRealSync = false;
  // So small that a batch takes several writes, and a read can find half of a batch.
  disk.maxWriteSize = 500;
  const { folder, store, clock } = await openSiteWithKey({
    disk,
    checkpoint: checkpointKeepingMonths(1, disk),
  });
  const states = new Map<number, StateDump>();
  let acknowledgedSeq = store.status().seq;
  const { stages, keep } = captureStages(disk, folder, () => acknowledgedSeq);
  for (let round = 0; round < 5; round += 1) {
    clock.now = utc(`2026-0${3 + round}-01T00:00:00Z`);
    await runCommands(store, states, `user ${round}`);
    acknowledgedSeq = store.status().seq;
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    await runCommands(store, states, `user ${round}`);
    acknowledgedSeq = store.status().seq;
  }
  keep();
  disk.clearFaults();
  return { folder, stages, states };
}

describe("backup of a folder that changes meanwhile", () => {
  test("contains all acknowledged changes when the folder changes once, between any two reads", async () => {
    const { folder, stages, states } = await recordStages();
    expect(stages.length).toBeGreaterThan(150);
    const stage = (index: number) => stages[Math.min(index, stages.length - 1)]?.folder ?? "";
    const last = stages.length - 1;
    let changedCount = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 8, max: last }),
        fc.integer({ min: 1, max: 40 }),
        fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: last })),
        async (from, changeAtRead, stagesAhead) => {
          let current = from;
          const disk = makeChangingDisk(folder, (reads) => {
            current = reads < changeAtRead ? from : from + stagesAhead;
            return stage(current);
          });
          const out = newBackupPath();
          const { manifest } = await makeSiteBackup(folder, out, disk);
          if (current !== from) changedCount += 1;
          const backedUp = await readBackupState(out);
          expect(backedUp.seq).toBe(manifest.seq);
          expect(backedUp.seq).toBeGreaterThanOrEqual(stages[from]?.acknowledgedSeq ?? Infinity);
          expect(backedUp.state).toEqual(states.get(backedUp.seq) as StateDump);
        },
      ),
      { numRuns: 50 },
    );
    expect(changedCount).toBeGreaterThan(15);
  });

  test("is either refused or correct when the folder changes at every read", async () => {
    const { folder, stages, states } = await recordStages();
    const last = stages.length - 1;
    for (let from = 8; from < stages.length; from += 11) {
      for (const readsPerStage of [1, 2, 5]) {
        const disk = makeChangingDisk(
          folder,
          (reads) =>
            stages.at(Math.min(from + Math.floor(reads / readsPerStage), last))?.folder ?? "",
        );
        const out = newBackupPath();
        const report = await makeSiteBackup(folder, out, disk).catch(() => null);
        if (report === null) expect(readdirSync(dirname(out))).toEqual([]);
        else {
          const backedUp = await readBackupState(out);
          expect([from, readsPerStage, backedUp.state]).toEqual([
            from,
            readsPerStage,
            states.get(backedUp.seq) as StateDump,
          ]);
        }
      }
    }
  });

  test("is refused after five attempts when the state keeps changing", async () => {
    const { folder } = await openSiteWithHistory();
    const path = join(folder, "state.json");
    let readCount = 0;
    const readPart: Disk["readPart"] = (readPath, offset, length) => {
      if (readPath !== path) return realDisk.readPart(readPath, offset, length);
      readCount += 1;
      return realDisk.readPart(readPath, offset, length - 1);
    };
    const out = newBackupPath();
    expect(await catchRefusal(makeSiteBackup(folder, out, { ...realDisk, readPart }))).toEqual({
      name: "BackupRefused",
      message: `${path} changed while it was copied`,
      hint: "try again",
    });
    expect([readCount, readdirSync(dirname(out))]).toEqual([5, []]);
  });
});
