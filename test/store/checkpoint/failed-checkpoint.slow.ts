// A checkpoint that fails, or is killed, releases the disk space it used. On an almost full disk
// the journal needs that space for the next answer.
import { describe, expect, spyOn, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { computeJournalReserve } from "../../../src/store/folder/disk-space.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { makeDiskError, failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  openLicensedSite,
  readLines,
  openSite,
  openAndCloseFolder,
} from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import { contentsOf, copyFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { prepareUncoveredSite } from "../../support/uncovered-site.ts";

/** All files except the locks, by name and content; a hard link to the state is left out. */
function filesOf(folder: string): Record<string, string> {
  const state = statSync(join(folder, "state.json")).ino;
  return Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => {
      const isSecond = name !== "state.json" && statSync(join(folder, name)).ino === state;
      return !isSecond && !name.endsWith("lock");
    }),
  );
}

const totalSize = (folder: string): number =>
  Object.values(filesOf(folder)).reduce((sum, content) => sum + content.length, 0);

const catchError = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (reason: unknown) => String(reason),
  );

const coveredBy = async (folder: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder).read())?.covers.seq;

/** Simulates a process that is killed before this call: every call from it on fails. */
function makeKilledDisk(callNumber: number): FaultyDisk {
  const disk = new FaultyDisk();
  let count = 0;
  disk.beforeCall = () => {
    count += 1;
    if (count >= callNumber) throw makeDiskError("EIO");
  };
  return disk;
}

describe("checkpoint that fails", () => {
  for (const code of ["ENOSPC", "EIO"]) {
    test(`with ${code} at any write leaves no byte behind, and the next checkpoint succeeds`, async () => {
      const { folder, open, state } = await prepareUncoveredSite();
      const before = filesOf(folder);
      let failureCount = 0;
      for (let callNumber = 1; ; callNumber += 1) {
        const copy = copyFolder(folder);
        const disk = new FaultyDisk();
        failCallAt(disk, callNumber, code, "write");
        const error = await catchError(checkpoint(disk, copy, open));
        if (error === null) break;
        expect([callNumber, filesOf(copy)]).toEqual([callNumber, before]);
        await checkpoint(realDisk, copy, open);
        expect([callNumber, await coveredBy(copy)]).toEqual([callNumber, open - 1]);
        expect((await openAndCloseFolder(copy)).state).toEqual(state);
        failureCount += 1;
      }
      expect(failureCount).toBeGreaterThan(8);
    });
  }

  test("because the disk fills up while it runs leaves no byte behind", async () => {
    const { folder, open } = await prepareUncoveredSite();
    const before = filesOf(folder);
    let failureCount = 0;
    for (let freeBytes = 0; ; freeBytes += 97) {
      const copy = copyFolder(folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = freeBytes;
      disk.reportedFreeBytes = Infinity;
      const error = await catchError(checkpoint(disk, copy, open));
      if (error === null) break;
      expect(error).toContain("ENOSPC");
      expect([freeBytes, filesOf(copy)]).toEqual([freeBytes, before]);
      failureCount += 1;
    }
    expect(failureCount).toBeGreaterThan(20);
  });

  test("at any other call uses no disk space", async () => {
    const { folder, open } = await prepareUncoveredSite();
    const before = totalSize(folder);
    let failureCount = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const copy = copyFolder(folder);
      const disk = new FaultyDisk();
      failCallAt(disk, callNumber, "EIO");
      const error = await catchError(checkpoint(disk, copy, open));
      if (disk.calls.length < callNumber) break;
      if (error !== null) failureCount += 1;
      const isDone = (await coveredBy(copy)) === open - 1;
      if (!isDone) expect([callNumber, totalSize(copy)]).toEqual([callNumber, before]);
      expect([callNumber, existsSync(join(copy, "state.json.new"))]).toEqual([callNumber, false]);
    }
    expect(failureCount).toBeGreaterThan(30);
  });
});

const inMiB = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(2)} MiB`;

describe("checkpoint on an almost full disk", () => {
  test("is not started, reports the space it needs, and succeeds with enough space", async () => {
    const { folder, open, state } = await prepareUncoveredSite();
    const clean = copyFolder(folder);
    await checkpoint(realDisk, clean, open);
    const sizeOf = (name: string): number => realDisk.stat(join(clean, name))?.size ?? 0;
    const march = realDisk.stat(join(folder, "history", "2026-03.jsonl"))?.size ?? 0;
    const added = sizeOf("history/2026-03.jsonl") - march + sizeOf("history/2026-04.jsonl");
    const written = sizeOf("state.json") + added;
    const needed = written + computeJournalReserve(written);
    const before = filesOf(folder);
    const disk = new FaultyDisk();
    disk.bytesLeft = needed - 1;
    const error = await catchError(checkpoint(disk, folder, open));
    expect(error).toContain(`the next checkpoint needs ${inMiB(needed)} on the disk of ${folder}`);
    expect(error).toContain(`but only ${inMiB(needed - 1)}`);
    expect(disk.listCalls("write", "truncate", "rename", "remove")).toEqual([]);
    expect(filesOf(folder)).toEqual(before);
    // A little more than needed, because the length of the audit log end in the new state varies.
    disk.bytesLeft = needed + 200;
    await checkpoint(disk, folder, open);
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
  });

  test("is started when the free space is unknown", async () => {
    const { folder, open } = await prepareUncoveredSite();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name }) => {
      if (name === "freeBytes") throw makeDiskError("ENOSYS");
    };
    await checkpoint(disk, folder, open);
    expect(await coveredBy(folder)).toBe(open - 1);
  });
});

describe("checkpoint that was killed", () => {
  test("uses no disk space after its server has cleaned up", async () => {
    const calls = new FaultyDisk();
    const site = await prepareUncoveredSite();
    await checkpoint(calls, copyFolder(site.folder), site.open);
    let incompleteCount = 0;
    for (let callNumber = 1; callNumber <= calls.calls.length; callNumber += 1) {
      const folder = copyFolder(site.folder);
      const before = totalSize(folder);
      const { store, stop } = await openSite({
        folder,
        checkpoint: (path, open) => checkpoint(makeKilledDisk(callNumber), path, open),
      });
      await store.checkpoint();
      expect(store.status().checkpointError).toContain("EIO");
      const isDone = (await coveredBy(folder)) !== 3;
      if (!isDone) {
        const leftoverBytes = totalSize(folder) - before;
        // Less than the prefix of a line stays, because it cannot be identified as a leftover.
        expect([callNumber, leftoverBytes < 128]).toEqual([callNumber, true]);
        incompleteCount += 1;
      }
      expect(existsSync(join(folder, "state.json.new"))).toBe(false);
      await stop();
    }
    expect(incompleteCount).toBeGreaterThan(30);
  });

  test("uses no disk space after the next start, which loses nothing", async () => {
    const site = await prepareUncoveredSite();
    const before = filesOf(site.folder);
    let leftoverCount = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const folder = copyFolder(site.folder);
      const error = await catchError(checkpoint(makeKilledDisk(callNumber), folder, site.open));
      if (error === null || (await coveredBy(folder)) === site.open - 1) break;
      if (totalSize(folder) > totalSize(site.folder)) leftoverCount += 1;
      expect(await openAndCloseFolder(folder)).toMatchObject({ state: site.state, notes: [] });
      // A file that was only created is empty.
      const { "history/2026-04.jsonl": newMonth = "600 ", ...files } = filesOf(folder);
      expect([callNumber, newMonth, files]).toEqual([callNumber, "600 ", before]);
    }
    expect(leftoverCount).toBeGreaterThan(5);
  });
});

describe("data after the end of the audit log", () => {
  const history = (folder: string): string[] => readdirSync(join(folder, "history")).toSorted();

  test("is kept by a start when the journal does not contain it", async () => {
    const { folder, open } = await prepareUncoveredSite();
    const newer = copyFolder(folder);
    await checkpoint(realDisk, newer, open);
    const path = join(folder, "history", "2026-03.jsonl");
    const march = readFileSync(join(newer, "history", "2026-03.jsonl"));
    // From a journal that continued after this folder was copied.
    const [line] = readLines(join(newer, "history", "2026-04.jsonl"));
    const foreign = (line?.raw.toString() ?? "").replace(/"audit_seq":\d+/, '"audit_seq":99');
    writeFileSync(path, Buffer.concat([march, Buffer.from(foreign)]));
    writeFileSync(join(folder, "history", "2026-05.jsonl"), foreign);
    const before = filesOf(folder);
    await openAndCloseFolder(folder);
    expect(filesOf(folder)).toEqual(before);
  });

  test("is kept by a start when it cannot be read", async () => {
    const { folder } = await prepareUncoveredSite();
    writeFileSync(join(folder, "history", "2026-02.jsonl"), "noise\nmore of it\n");
    writeFileSync(join(folder, "history", "2026-05.jsonl"), "noise");
    writeFileSync(join(folder, "history", "notes.txt"), "not an audit file");
    const before = filesOf(folder);
    await openAndCloseFolder(folder);
    expect(filesOf(folder)).toEqual(before);
    expect(history(folder)).toContain("notes.txt");
  });

  test("is not cut when the state and the file do not agree on the last line", async () => {
    const { folder } = await prepareUncoveredSite();
    const path = join(folder, "history", "2026-03.jsonl");
    const lines = readLines(path);
    const [first] = lines;
    if (first === undefined) throw new Error("no line");
    // With an extra line in the middle, the end that the state records is inside another line.
    writeFileSync(path, Buffer.concat([first.raw, ...lines.map(({ raw }) => raw)]));
    const before = filesOf(folder);
    await openAndCloseFolder(folder);
    expect(filesOf(folder)).toEqual(before);
  });
});

describe("failed checkpoint is retried", () => {
  test("automatically when a full disk has free space again", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await openLicensedSite({
      disk,
      checkpoint: (path, open) => checkpoint(disk, path, open),
    });
    disk.bytesLeft = 2_000;
    await store.checkpoint();
    expect(store.status().checkpointError).toContain("MiB are free");
    const { seq } = store.status();
    disk.bytesLeft = 0;
    expect(await transactCommand(store, register("ada"))).toMatchObject({
      fault: { code: "storage_full" },
    });
    expect(await coveredBy(folder)).toBe(0);
    disk.bytesLeft = Infinity;
    await waitUntil(async () => (await coveredBy(folder)) === seq);
    await waitUntil(() => store.status().checkpointError === null);
    await transactOrThrow(store, register("ada"));
  });

  test("automatically after a minute, and covers only closed segments", async () => {
    const fault = { fails: true };
    const clock = spyOn(performance, "now");
    const { store, folder } = await openLicensedSite({
      checkpoint: async (path, open) => {
        if (fault.fails) throw new Error("out of memory");
        await checkpoint(realDisk, path, open);
      },
    });
    try {
      await store.checkpoint();
      expect(store.status().checkpointError).toBe("out of memory");
      await transactOrThrow(store, register("ada"));
      fault.fails = false;
      const since = performance.now();
      clock.mockImplementation(() => since + 61_000);
      await waitUntil(() => store.status().checkpointError === null);
      expect(await coveredBy(folder)).toBe(2);
      expect(store.status().journalBytes).toBeGreaterThan(0);
    } finally {
      clock.mockRestore();
    }
  });
});

test("start after a failed checkpoint cuts only a torn line from the open segment", async () => {
  const { folder, open, state } = await prepareUncoveredSite();
  const path = join(folder, `journal-${open}.jsonl`);
  const before = readFileSync(path);
  await catchError(checkpoint(makeKilledDisk(30), folder, open));
  appendFileSync(path, '{"seq":');
  const { state: stateAfter } = await openAndCloseFolder(folder);
  expect(stateAfter).toEqual(state);
  expect(readFileSync(path)).toEqual(before);
});
