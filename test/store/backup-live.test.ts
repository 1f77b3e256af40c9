// Backups of a folder that a server works on. They never ask it, and they miss nothing it answered
// before they began.
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { realDisk, type Disk } from "../../src/platform/disk.ts";
import { makeBackup } from "../../src/store/backup.ts";
import type { Store } from "../../src/store/store.ts";
import {
  openSiteWithKey,
  readBackupState,
  checkIdentity,
  checkpointKeepingMonths,
  openSiteWithHistory,
  newBackupPath,
  catchRefusal,
} from "../support/backup-site.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import {
  transactCommand,
  dumpStateSorted,
  unwrap,
  type StateDump,
} from "../support/licensed-store.ts";
import { makeChangingDisk, captureStages } from "../support/changing-disk.ts";
import { consume, MONDAY, register, unregister, utc } from "../support/scenario.ts";

const make = (folder: string, out: string, disk = realDisk) =>
  makeBackup(disk, folder, out, MONDAY, { identity: checkIdentity });

/** Commands of a line each, and the state after every one of them by its number. */
async function live(store: Store, states: Map<number, StateDump>, user: string): Promise<void> {
  for (const command of [register(user), consume(1), unregister(user)]) {
    const before = store.health().seq;
    const answer = transactCommand(store, command);
    const { seq } = store.health();
    expect(seq).toBe(before + 1);
    states.set(seq, store.peek(dumpStateSorted));
    unwrap(await answer);
  }
}

describe("backups beside commands and checkpoints in the same process", () => {
  test("each hold everything that was answered before they began", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    const states = new Map<number, StateDump>();
    const making: Promise<void>[] = [];
    for (let round = 0; round < 40; round += 1) {
      clock.now = utc(`2026-0${3 + (round >> 3)}-01T00:00:00Z`);
      const answered = store.health().seq;
      await live(store, states, `user ${round}`);
      const out = newBackupPath();
      const begun = async (): Promise<void> => {
        const { manifest } = await make(folder, out);
        const held = await readBackupState(out);
        expect(held.seq).toBe(manifest.seq);
        expect(held.seq).toBeGreaterThanOrEqual(answered + 3);
        expect(held.state).toEqual(states.get(held.seq) as StateDump);
      };
      making.push(begun());
      if (round % 3 === 0) void store.checkpoint();
    }
    await Promise.all(making);
    expect(store.health().checkpointError).toBeNull();
  });
});

/** A life of five months in one folder, as it lay on disk before each change to it. */
async function filmed() {
  const disk = new FaultyDisk();
  disk.hasRealSync = false;
  // So short that a batch takes several writes, and a look can find half of one.
  disk.maxWriteSize = 500;
  const { folder, store, clock } = await openSiteWithKey({
    disk,
    checkpoint: checkpointKeepingMonths(1, disk),
  });
  const states = new Map<number, StateDump>();
  let answered = store.health().seq;
  const { stages, keep } = captureStages(disk, folder, () => answered);
  for (let round = 0; round < 5; round += 1) {
    clock.now = utc(`2026-0${3 + round}-01T00:00:00Z`);
    await live(store, states, `user ${round}`);
    answered = store.health().seq;
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    await live(store, states, `user ${round}`);
    answered = store.health().seq;
  }
  keep();
  disk.clearFaults();
  return { folder, stages, states };
}

describe("a backup of a folder that moves on", () => {
  test("between any two looks, by one change or many, is made and misses nothing", async () => {
    const { folder, stages, states } = await filmed();
    expect(stages.length).toBeGreaterThan(150);
    const stage = (index: number) => stages[Math.min(index, stages.length - 1)]?.folder ?? "";
    const last = stages.length - 1;
    let moved = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 8, max: last }),
        fc.integer({ min: 1, max: 40 }),
        fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: last })),
        async (from, look, by) => {
          let now = from;
          const disk = makeChangingDisk(folder, (looks) => {
            now = looks < look ? from : from + by;
            return stage(now);
          });
          const out = newBackupPath();
          const { manifest } = await make(folder, out, disk);
          if (now !== from) moved += 1;
          const held = await readBackupState(out);
          expect(held.seq).toBe(manifest.seq);
          expect(held.seq).toBeGreaterThanOrEqual(stages[from]?.acknowledgedSeq ?? Infinity);
          expect(held.state).toEqual(states.get(held.seq) as StateDump);
        },
      ),
      { numRuns: 200 },
    );
    expect(moved).toBeGreaterThan(60);
  });

  test("with every look holds what it should, if it is made at all", async () => {
    const { folder, stages, states } = await filmed();
    const last = stages.length - 1;
    for (let from = 8; from < stages.length; from += 11) {
      for (const pace of [1, 2, 5]) {
        const disk = makeChangingDisk(
          folder,
          (looks) => stages.at(Math.min(from + Math.floor(looks / pace), last))?.folder ?? "",
        );
        const out = newBackupPath();
        const made = await make(folder, out, disk).catch(() => null);
        if (made === null) expect(readdirSync(dirname(out))).toEqual([]);
        else {
          const held = await readBackupState(out);
          expect([from, pace, held.state]).toEqual([from, pace, states.get(held.seq) as StateDump]);
        }
      }
    }
  });

  test("all the time is given up after five attempts", async () => {
    const { folder } = await openSiteWithHistory();
    const path = join(folder, "state.json");
    let copied = 0;
    const readPart: Disk["readPart"] = (asked, offset, length) => {
      if (asked !== path) return realDisk.readPart(asked, offset, length);
      copied += 1;
      return realDisk.readPart(asked, offset, length - 1);
    };
    const out = newBackupPath();
    expect(await catchRefusal(make(folder, out, { ...realDisk, readPart }))).toEqual({
      name: "BackupRefused",
      message: `${path} changed while it was copied`,
      hint: "try again",
    });
    expect([copied, readdirSync(dirname(out))]).toEqual([5, []]);
  });
});
