import { expect, onTestFinished, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { assessStoreHealth, SyncTimes } from "../../src/store/store-health.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import { transactOrThrow, openSite } from "../support/licensed-store.ts";
import { install } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";

const MIB = 1024 * 1024;

const WELL = {
  coveredSeq: 0,
  slowestSyncMs: 0,
  checkpointError: null,
  checkpointRunningMs: null,
  isFileLimited: false,
  auditFinding: null,
};

const codes = (differing: Partial<Parameters<typeof assessStoreHealth>[2]>): string[] =>
  assessStoreHealth(realDisk, tempFolder(), { ...WELL, ...differing }).warnings.map(
    ({ code }) => code,
  );

test("a disk that syncs within a second and checkpoints that succeed are no trouble", () => {
  expect(codes({ slowestSyncMs: 999 })).toEqual([]);
});

test("a sync of a second is slow", () => {
  expect(codes({ slowestSyncMs: 1_000 })).toEqual(["disk_slow"]);
});

test("a checkpoint that failed is told with its reason", () => {
  const failing = { ...WELL, checkpointError: "no room" };
  const { warnings } = assessStoreHealth(realDisk, tempFolder(), failing);
  expect(warnings).toEqual([
    { code: "checkpoint_failing", message: expect.stringMatching(/: no room$/) },
  ]);
});

test("a damaged audit log is told with what is wrong and what helps", () => {
  const found = { message: "line 7 is gone", hint: "berth audit repair" };
  expect(
    assessStoreHealth(realDisk, tempFolder(), { ...WELL, auditFinding: found }).warnings,
  ).toEqual([{ code: "audit_damaged", message: "line 7 is gone; berth audit repair" }]);
});

test("a disk that does not say how much room it has is not called full", () => {
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name }) => {
    if (name === "freeBytes") throw new Error("told to");
  };
  const { warnings, freeBytes } = assessStoreHealth(disk, tempFolder(), WELL);
  expect({ troubles: warnings, freeBytes }).toEqual({ troubles: [], freeBytes: null });
});

test("room is little when it is less than the state and all of the journal since want", () => {
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
  // Twice the state, what is spared, and the segments that the state does not cover.
  for (const [covers, wanted] of [
    [4, 2 + 16 + 2 + 3],
    [8, 2 + 16 + 3],
  ] as const) {
    disk.bytesLeft = wanted * MIB;
    expect(assessStoreHealth(disk, folder, { ...WELL, coveredSeq: covers }).warnings).toEqual([]);
    disk.bytesLeft -= 1;
    expect(assessStoreHealth(disk, folder, { ...WELL, coveredSeq: covers }).warnings).toEqual([
      {
        code: "disk_low",
        message: `the disk of ${folder} has ${wanted} MiB free; the next checkpoint needs ${wanted} MiB`,
      },
    ]);
  }
});

test("room is little while closed segments wait for a checkpoint that failed", async () => {
  // The disk of this machine may be slow just now.
  const times = spyOn(SyncTimes.prototype, "add").mockImplementation(() => {});
  onTestFinished(() => times.mockRestore());
  const disk = new FaultyDisk();
  const { store } = await openSite({
    disk,
    checkpoint: () => Promise.reject(new Error("out of memory")),
  });
  await transactOrThrow(store, install(1, { metadata: "x".repeat(5 * MIB) }));
  disk.reportedFreeBytes = 20 * MIB;
  expect(store.condition().warnings.map(({ code }) => code)).toEqual(["disk_low"]);
  await store.checkpoint();
  expect(store.condition().warnings.map(({ code }) => code)).toEqual([
    "disk_low",
    "checkpoint_failing",
  ]);
});

test("a slow sync is remembered for one to two minutes", () => {
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
