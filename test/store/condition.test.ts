import { expect, spyOn, test } from "bun:test";
import { realDisk } from "../../src/platform/disk.ts";
import { conditionOf, SyncTimes } from "../../src/store/condition.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import { tempFolder } from "../support/temp-folder.ts";

const codes = (slowest: number, error: string | null): string[] =>
  conditionOf(realDisk, tempFolder(), 0, slowest, error).troubles.map(({ code }) => code);

test("a disk that syncs within a second and checkpoints that succeed are no trouble", () => {
  expect(codes(999, null)).toEqual([]);
});

test("a sync of a second is slow", () => {
  expect(codes(1_000, null)).toEqual(["disk_slow"]);
});

test("a checkpoint that failed is told with its reason", () => {
  const { troubles } = conditionOf(realDisk, tempFolder(), 0, 0, "no room");
  expect(troubles).toEqual([
    { code: "checkpoint_failing", message: expect.stringMatching(/: no room$/) },
  ]);
});

test("a disk that does not say how much room it has is not called full", () => {
  const disk = new FaultyDisk();
  disk.rule = ({ name }) => {
    if (name === "freeBytes") throw new Error("told to");
  };
  const { troubles, freeBytes } = conditionOf(disk, tempFolder(), 0, 0, null);
  expect({ troubles, freeBytes }).toEqual({ troubles: [], freeBytes: null });
});

test("room is little when it is less than the next checkpoint wants", () => {
  const disk = new FaultyDisk();
  const folder = tempFolder();
  const journal = 5 * 1024 * 1024;
  disk.room = 21 * 1024 * 1024;
  expect(conditionOf(disk, folder, journal, 0, null).troubles).toEqual([]);
  disk.room -= 1;
  expect(conditionOf(disk, folder, journal, 0, null).troubles).toHaveLength(1);
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
