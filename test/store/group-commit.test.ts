import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SyncTimes } from "../../src/store/store-health.ts";
import { GroupCommit, type StorageError } from "../../src/store/group-commit.ts";
import {
  makeDiskError,
  failCallAt,
  FaultyDisk,
  isPending,
  waitUntil,
} from "../support/faulty-disk.ts";
import { tempFolder } from "../support/temp-folder.ts";

function started() {
  const disk = new FaultyDisk();
  const path = join(tempFolder(), "one");
  const failures: StorageError[] = [];
  const commit = new GroupCommit(disk.open(path), 0, new SyncTimes(), (error) =>
    failures.push(error),
  );
  return { disk, path, commit, failures, text: () => readFileSync(path, "utf8") };
}

/** The promise a caller who speaks now would wait for. */
const settled = (commit: GroupCommit): Promise<void> => commit.whenDurable() ?? Promise.resolve();

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "no error",
    (error: StorageError) => error.fault.code,
  );

describe("a batch", () => {
  test("is one write and one sync for everybody who speaks in one turn", async () => {
    const { disk, commit, text } = started();
    for (const seq of [1, 2, 3]) commit.append(seq, `${seq}\n`);
    await commit.whenDurable();
    expect(text()).toBe("1\n2\n3\n");
    expect(disk.listCalls("write", "syncData")).toEqual(["write one", "syncData one"]);
    expect(commit.durableBytes).toBe(6);
    expect(commit.whenDurable()).toBeNull();
  });

  test("is settled only when its sync returned", async () => {
    const { disk, commit } = started();
    const syncs = disk.block("syncData");
    commit.append(1, "1\n");
    const waiting = settled(commit);
    await waitUntil(() => syncs.count === 1);
    expect(await isPending(waiting)).toBe(true);
    expect(commit.durableBytes).toBe(0);
    await syncs.releaseOne();
    await waiting;
    expect(commit.durableBytes).toBe(2);
  });

  test("is written only after the sync of the one before returned", async () => {
    const { disk, commit, text } = started();
    const syncs = disk.block("syncData");
    commit.append(1, "1\n");
    expect(commit.pendingBatchSeq).toBe(1);
    const first = settled(commit);
    await waitUntil(() => syncs.count === 1);
    expect(commit.pendingBatchSeq).toBeNull();
    commit.append(2, "2\n");
    commit.append(3, "3\n");
    expect(commit.pendingBatchSeq).toBe(2);
    const second = settled(commit);
    expect(await isPending(second)).toBe(true);
    expect(text()).toBe("1\n");
    await syncs.releaseOne();
    await first;
    await waitUntil(() => syncs.count === 1);
    expect(await isPending(second)).toBe(true);
    expect(text()).toBe("1\n2\n3\n");
    await syncs.releaseOne();
    await second;
    expect(disk.listCalls("write", "syncData")).toEqual([
      "write one",
      "syncData one",
      "write one",
      "syncData one",
    ]);
  });

  test("is written whole, however little the disk takes at a time", async () => {
    const { disk, commit, text } = started();
    disk.maxWriteSize = 3;
    const line = `${"ä".repeat(50)}\n`;
    commit.append(1, line);
    await commit.whenDurable();
    expect(text()).toBe(line);
    expect(commit.durableBytes).toBe(Buffer.byteLength(line));
  });
});

describe("another file", () => {
  test("is taken up between batches, and only the later ones go there", async () => {
    const { disk, path, commit, text } = started();
    const syncs = disk.block("syncData");
    commit.append(1, "1\n");
    await waitUntil(() => syncs.count === 1);
    commit.append(2, "2\n");
    let opened = false;
    const switched = commit.switchFile(async () => {
      opened = true;
      return disk.open(`${path}-more`);
    });
    expect(await isPending(switched)).toBe(true);
    expect(opened).toBe(false);
    syncs.releaseAll();
    await switched;
    await commit.whenDurable();
    expect(text()).toBe("1\n");
    expect(readFileSync(`${path}-more`, "utf8")).toBe("2\n");
    expect(commit.durableBytes).toBe(2);
    expect(disk.listCalls("close")).toEqual(["close one"]);
  });

  test("that cannot be opened leaves the one in use as good as before", async () => {
    const { commit, text, failures } = started();
    expect(commit.switchFile(() => Promise.reject(makeDiskError("ENOSPC")))).rejects.toThrow(
      "ENOSPC",
    );
    commit.append(1, "1\n");
    await commit.whenDurable();
    expect(text()).toBe("1\n");
    expect(failures).toEqual([]);
  });
});

describe("a failure", () => {
  const kinds = [
    ["a sync that fails with EIO", "syncData", "EIO", "storage_failed"],
    ["a sync that fails for want of room", "syncData", "ENOSPC", "storage_failed"],
    ["a write that fails with EIO", "write", "EIO", "storage_failed"],
    ["a write that fails for a reason nobody knows", "write", "EWHAT", "storage_failed"],
    ["a write without room", "write", "ENOSPC", "storage_full"],
    ["a write over quota", "write", "EDQUOT", "storage_full"],
    ["a write past the largest file", "write", "EFBIG", "storage_full"],
  ] as const;
  for (const [name, call, code, fault] of kinds) {
    test(`${name} is ${fault} for all who wait, told once and never tried again`, async () => {
      const { disk, path, commit, failures } = started();
      const syncs = disk.block("syncData");
      commit.append(1, "1\n");
      await waitUntil(() => syncs.count === 1);
      await syncs.releaseOne();
      await commit.whenDurable();
      // Once only: a second try would find nothing wrong.
      failCallAt(disk, 1, code, call);
      commit.append(2, "2\n");
      commit.append(3, "3\n");
      const all = [settled(commit), settled(commit)];
      expect(await Promise.all(all.map(codeOf))).toEqual([fault, fault]);
      expect(failures.map((error) => error.fault.code)).toEqual([fault]);
      expect(String(failures[0]?.cause)).toContain(code);
      disk.clearFaults();
      const before = disk.calls.length;
      expect(await codeOf(settled(commit))).toBe(fault);
      expect(await codeOf(commit.switchFile(async () => disk.open(`${path}-more`)))).toBe(fault);
      expect(() => commit.append(4, "4\n")).toThrow(fault);
      await Bun.sleep(5);
      expect(disk.calls).toHaveLength(before);
      expect(commit.durableBytes).toBe(2);
    });
  }

  test("reaches those who gathered behind the batch that failed", async () => {
    const { disk, path, commit, failures, text } = started();
    const syncs = disk.block("syncData");
    commit.append(1, "1\n");
    const first = codeOf(settled(commit));
    await waitUntil(() => syncs.count === 1);
    commit.append(2, "2\n");
    const second = codeOf(settled(commit));
    const third = codeOf(commit.switchFile(async () => disk.open(`${path}-more`)));
    await syncs.releaseOne(makeDiskError("EIO"));
    expect(await Promise.all([first, second, third])).toEqual([
      "storage_failed",
      "storage_failed",
      "storage_failed",
    ]);
    expect(failures).toHaveLength(1);
    expect(text()).toBe("1\n");
  });

  test("of a batch that nobody waits for does not end the process", async () => {
    const { disk, commit, failures } = started();
    disk.beforeCall = ({ name }) => {
      if (name === "syncData") throw makeDiskError("EIO");
    };
    commit.append(1, "1\n");
    await waitUntil(() => failures.length === 1);
  });
});
