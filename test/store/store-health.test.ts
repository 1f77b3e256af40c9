import { expect, onTestFinished, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk, type Disk } from "../../src/platform/files/disk.ts";
import { DiskFigureCache } from "../../src/store/folder/disk-space.ts";
import {
  assessStoreHealth,
  SyncTimes,
  type StoreHealthInput,
} from "../../src/store/store-health.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import { transactOrThrow, openSite } from "../support/licensed-store.ts";
import { createSteppingClock } from "../support/manual-clock.ts";
import { install } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";

const MIB = 1024 * 1024;

const HEALTHY = {
  slowestSyncMs: 0,
  unfinishedSyncMs: 0,
  checkpointError: null,
  checkpointRunningMs: null,
  checkpointStalledMs: 0,
  isStateMissing: false,
  isFileLimited: false,
  auditFinding: null,
};

/** The health of a folder whose disk is asked each time. */
const assess = (
  disk: Disk,
  folder: string,
  { coveredSeq = 0, ...input }: Partial<StoreHealthInput> & { coveredSeq?: number } = {},
) => {
  const figures = new DiskFigureCache(disk, folder, createSteppingClock()).read(coveredSeq);
  return assessStoreHealth(folder, figures, { ...HEALTHY, ...input });
};

const warningCodes = (input: Partial<StoreHealthInput>): string[] =>
  assess(realDisk, tempFolder(), input).warnings.map(({ code }) => code);

test("store health has no warning for syncs of 999 ms and successful checkpoints", () => {
  expect(warningCodes({ slowestSyncMs: 999 })).toEqual([]);
});

test("store health warns disk_slow for a sync of 1000 ms", () => {
  expect(warningCodes({ slowestSyncMs: 1_000 })).toEqual(["disk_slow"]);
});

test("store health warns checkpoint_failing with the reason of the failure", () => {
  const { warnings } = assess(realDisk, tempFolder(), { checkpointError: "disk full" });
  expect(warnings).toEqual([
    { code: "checkpoint_failing", message: expect.stringMatching(/: disk full$/) },
  ]);
});

test("store health warns audit_damaged with the damage and the hint", () => {
  const auditFinding = { message: "line 7 is gone", hint: "berth audit repair" };
  expect(assess(realDisk, tempFolder(), { auditFinding }).warnings).toEqual([
    { code: "audit_damaged", message: "line 7 is gone; berth audit repair" },
  ]);
});

test("store health does not warn disk_low when the free space is unknown", () => {
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name }) => {
    if (name === "freeBytes") throw new Error("told to");
  };
  const { warnings, freeBytes } = assess(disk, tempFolder());
  expect({ warnings, freeBytes }).toEqual({ warnings: [], freeBytes: null });
});

test("store health warns disk_low just below the space that the next checkpoint needs", () => {
  const disk = new FaultyDisk();
  const folder = tempFolder();
  const sizes = {
    "state.json": 1,
    "journal-1.jsonl": 7,
    "journal-5.jsonl": 2,
    "journal-9.jsonl": 3,
  };
  for (const [name, size] of Object.entries(sizes)) {
    writeFileSync(join(folder, name), new Uint8Array(size * MIB));
  }
  // Twice the state, the reserve, and the segments that the state does not cover.
  for (const [coveredSeq, neededMiB] of [
    [4, 2 + 16 + 2 + 3],
    [8, 2 + 16 + 3],
  ] as const) {
    disk.bytesLeft = neededMiB * MIB;
    expect(assess(disk, folder, { coveredSeq }).warnings).toEqual([]);
    disk.bytesLeft -= 1;
    expect(assess(disk, folder, { coveredSeq }).warnings).toEqual([
      {
        code: "disk_low",
        message: `the disk of ${folder} has ${neededMiB} MiB free; it should have ${neededMiB} MiB: for the next checkpoint, and a reserve`,
      },
    ]);
  }
});

test("store health warns disk_low while closed segments wait for a failed checkpoint", async () => {
  // The disk of the test machine may be slow, which would add a warning.
  const times = spyOn(SyncTimes.prototype, "add").mockImplementation(() => {});
  onTestFinished(() => times.mockRestore());
  const disk = new FaultyDisk();
  const { store } = await openSite({
    disk,
    checkpoint: () => Promise.reject(new Error("out of memory")),
  });
  await transactOrThrow(store, install(1, { metadata: "x".repeat(5 * MIB) }));
  disk.reportedFreeBytes = 20 * MIB;
  expect(store.health().warnings.map(({ code }) => code)).toEqual(["disk_low"]);
  await store.checkpoint();
  expect(store.health().warnings.map(({ code }) => code)).toEqual([
    "disk_low",
    "checkpoint_failing",
  ]);
});

test("the figures of the disk are read once a second, and again after a checkpoint", () => {
  const disk = new FaultyDisk();
  let readings = 0;
  disk.beforeCall = ({ name }) => {
    if (name === "freeBytes") readings += 1;
  };
  const clock = { ms: 5_000 };
  const cache = new DiskFigureCache(disk, tempFolder(), () => clock.ms);
  disk.reportedFreeBytes = 20 * MIB;
  expect(cache.read(1).freeBytes).toBe(20 * MIB);
  disk.reportedFreeBytes = 10 * MIB;
  clock.ms += 999;
  expect([cache.read(1).freeBytes, readings]).toEqual([20 * MIB, 1]);
  clock.ms += 1;
  expect([cache.read(1).freeBytes, readings]).toEqual([10 * MIB, 2]);
  disk.reportedFreeBytes = 5 * MIB;
  expect([cache.read(2).freeBytes, readings]).toEqual([5 * MIB, 3]);
});

test("SyncTimes reports a slow sync for one to two minutes", () => {
  const clock = spyOn(performance, "now");
  try {
    const at = (minutes: number): void => void clock.mockReturnValue(minutes * 60_000);
    const times = new SyncTimes();
    at(7.1);
    times.add(20);
    times.add(1_500);
    times.add(10);
    expect(times.slowest).toBe(1_500);
    at(8.9);
    times.add(30);
    expect(times.slowest).toBe(1_500);
    at(9);
    expect(times.slowest).toBe(30);
    at(20);
    expect(times.slowest).toBe(0);
  } finally {
    clock.mockRestore();
  }
});
