import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FileBatchWriter } from "../../../src/store/journal/batch-writer.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { SyncTimes } from "../../../src/store/store-health.ts";
import { GroupCommit } from "../../../src/store/journal/group-commit.ts";
import type { StorageError } from "../../../src/store/journal/storage-fault.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

function makeGroupCommit() {
  const disk = new FaultyDisk();
  const path = join(tempFolder(), "one");
  const failures: StorageError[] = [];
  const commit = new GroupCommit(
    disk.open(path),
    0,
    new FileBatchWriter(new SyncTimes()),
    (error) => failures.push(error),
  );
  return { disk, path, commit, failures, text: () => readFileSync(path, "utf8") };
}

/** Appends a line with this number; its checksums do not matter here. */
const appendLine = (commit: GroupCommit, seq: number, text: string): void =>
  commit.append({ ...genesisHead, seq: seq - 1 }, { ...genesisHead, seq }, text);

/** Resolves when everything appended so far is durable. */
const whenDurable = (commit: GroupCommit): Promise<void> =>
  commit.whenDurable() ?? Promise.resolve();

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "no error",
    (error: StorageError) => error.fault.code,
  );

describe("group commit", () => {
  test("writes and syncs once for all lines of one turn of the event loop", async () => {
    const { disk, commit, text } = makeGroupCommit();
    for (const seq of [1, 2, 3]) appendLine(commit, seq, `${seq}\n`);
    await commit.whenDurable();
    expect(text()).toBe("1\n2\n3\n");
    expect(disk.listCalls("write", "syncData")).toEqual(["write one", "syncData one"]);
    expect(commit.durableBytes).toBe(6);
    expect(commit.whenDurable()).toBeNull();
  });

  test("resolves a batch only after its sync", async () => {
    const { disk, commit } = makeGroupCommit();
    const syncs = disk.block("syncData");
    appendLine(commit, 1, "1\n");
    const durable = whenDurable(commit);
    await waitUntil(() => syncs.count === 1);
    expect(await isPending(durable)).toBe(true);
    expect(commit.durableBytes).toBe(0);
    await syncs.releaseOne();
    await durable;
    expect(commit.durableBytes).toBe(2);
  });

  test("writes a batch only after the sync of the batch before", async () => {
    const { disk, commit, text } = makeGroupCommit();
    const syncs = disk.block("syncData");
    appendLine(commit, 1, "1\n");
    expect(commit.pendingBatchSeq).toBe(1);
    const first = whenDurable(commit);
    await waitUntil(() => syncs.count === 1);
    expect(commit.pendingBatchSeq).toBeNull();
    appendLine(commit, 2, "2\n");
    appendLine(commit, 3, "3\n");
    expect(commit.pendingBatchSeq).toBe(2);
    const second = whenDurable(commit);
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

  test("writes a batch completely when the disk accepts 3 bytes per write", async () => {
    const { disk, commit, text } = makeGroupCommit();
    disk.maxWriteSize = 3;
    const line = `${"ä".repeat(50)}\n`;
    appendLine(commit, 1, line);
    await commit.whenDurable();
    expect(text()).toBe(line);
    expect(commit.durableBytes).toBe(Buffer.byteLength(line));
  });
});

describe("group commit that switches to another file", () => {
  test("does so between batches and writes only later batches there", async () => {
    const { disk, path, commit, text } = makeGroupCommit();
    const syncs = disk.block("syncData");
    appendLine(commit, 1, "1\n");
    await waitUntil(() => syncs.count === 1);
    appendLine(commit, 2, "2\n");
    let isOpened = false;
    const switched = commit.switchFile(async () => {
      isOpened = true;
      return disk.open(`${path}-more`);
    });
    expect(await isPending(switched)).toBe(true);
    expect(isOpened).toBe(false);
    syncs.releaseAll();
    await switched;
    await commit.whenDurable();
    expect(text()).toBe("1\n");
    expect(readFileSync(`${path}-more`, "utf8")).toBe("2\n");
    expect(commit.durableBytes).toBe(2);
    expect(disk.listCalls("close")).toEqual(["close one"]);
  });

  test("continues in the current file when the new one cannot be opened", async () => {
    const { commit, text, failures } = makeGroupCommit();
    expect(commit.switchFile(() => Promise.reject(makeDiskError("ENOSPC")))).rejects.toThrow(
      "ENOSPC",
    );
    appendLine(commit, 1, "1\n");
    await commit.whenDurable();
    expect(text()).toBe("1\n");
    expect(failures).toEqual([]);
  });
});

describe("group commit failure", () => {
  const failureCases = [
    ["of a sync with EIO", "syncData", "EIO", "storage_failed"],
    ["of a sync with ENOSPC", "syncData", "ENOSPC", "storage_failed"],
    ["of a write with EIO", "write", "EIO", "storage_failed"],
    ["of a write with an unknown error", "write", "EWHAT", "storage_failed"],
    ["of a write with ENOSPC", "write", "ENOSPC", "storage_full"],
    ["of a write over quota", "write", "EDQUOT", "storage_full"],
    ["of a write over the file size limit", "write", "EFBIG", "storage_full"],
  ] as const;
  for (const [name, call, code, fault] of failureCases) {
    test(`${name} is ${fault} for all waiting calls, reported once and never retried`, async () => {
      const { disk, path, commit, failures } = makeGroupCommit();
      const syncs = disk.block("syncData");
      appendLine(commit, 1, "1\n");
      await waitUntil(() => syncs.count === 1);
      await syncs.releaseOne();
      await commit.whenDurable();
      // The call fails only once: a second attempt would succeed.
      failCallAt(disk, 1, code, call);
      appendLine(commit, 2, "2\n");
      appendLine(commit, 3, "3\n");
      const all = [whenDurable(commit), whenDurable(commit)];
      expect(await Promise.all(all.map(codeOf))).toEqual([fault, fault]);
      expect(failures.map((error) => error.fault.code)).toEqual([fault]);
      expect(String(failures[0]?.cause)).toContain(code);
      disk.clearFaults();
      const before = disk.calls.length;
      expect(await codeOf(whenDurable(commit))).toBe(fault);
      expect(await codeOf(commit.switchFile(async () => disk.open(`${path}-more`)))).toBe(fault);
      expect(() => appendLine(commit, 4, "4\n")).toThrow(fault);
      await Bun.sleep(5);
      expect(disk.calls).toHaveLength(before);
      expect(commit.durableBytes).toBe(2);
    });
  }

  test("also fails the lines and the file switch that wait for the failed batch", async () => {
    const { disk, path, commit, failures, text } = makeGroupCommit();
    const syncs = disk.block("syncData");
    appendLine(commit, 1, "1\n");
    const first = codeOf(whenDurable(commit));
    await waitUntil(() => syncs.count === 1);
    appendLine(commit, 2, "2\n");
    const second = codeOf(whenDurable(commit));
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

  test("of a batch without a waiting call does not end the process", async () => {
    const { disk, commit, failures } = makeGroupCommit();
    disk.beforeCall = ({ name }) => {
      if (name === "syncData") throw makeDiskError("EIO");
    };
    appendLine(commit, 1, "1\n");
    await waitUntil(() => failures.length === 1);
  });
});
