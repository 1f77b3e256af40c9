// A checkpoint that fails, or is killed, gives back the room it took: on a disk that is almost full
// it is the room that the journal needs for the next answer.
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
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { computeJournalReserve } from "../../src/store/disk-space.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { makeDiskError, failCallAt, FaultyDisk, waitUntil } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  transactInOneBatch,
  openLicensedSite,
  readLines,
  openSite,
  openAndCloseFolder,
  readState,
  type StateDump,
} from "../support/licensed-store.ts";
import { consume, register, utc } from "../support/scenario.ts";
import { contentsOf, copyFolder } from "../support/temp-folder.ts";

interface Unfolded {
  readonly folder: string;
  /** The segment that was being written; everything before it is there to be folded. */
  readonly open: number;
  readonly state: StateDump;
}

/** One checkpoint made; since then two segments closed, over a month's end, and a third begun. */
async function unfolded(): Promise<Unfolded> {
  let fold = true;
  const { store, folder, clock } = await openLicensedSite({
    checkpoint: async (path, open) => {
      if (fold) await checkpoint(realDisk, path, open);
    },
  });
  await transactOrThrow(store, register("ada"));
  await store.checkpoint();
  fold = false;
  await transactInOneBatch(store, register("bob"), register("ada"));
  await store.checkpoint();
  clock.now = utc("2026-04-01T00:00:00Z");
  await transactInOneBatch(store, register("cem"), consume(2));
  await store.checkpoint();
  const open = store.health().seq + 1;
  await transactOrThrow(store, register("dua"));
  return { folder: copyFolder(folder), open, state: await readState(store) };
}

/** All files but the locks, by name and content; a second name of the state is not another file. */
function filesOf(folder: string): Record<string, string> {
  const state = statSync(join(folder, "state.json")).ino;
  return Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => {
      const isSecond = name !== "state.json" && statSync(join(folder, name)).ino === state;
      return !isSecond && !name.endsWith("lock");
    }),
  );
}

const sizesOf = (folder: string): number =>
  Object.values(filesOf(folder)).reduce((sum, content) => sum + content.length, 0);

const failure = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => String(error),
  );

const coveredBy = async (folder: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder).read())?.covers.seq;

/** A process that is killed before call number `place`: nothing it does after that happens. */
function killedAt(place: number): FaultyDisk {
  const disk = new FaultyDisk();
  let count = 0;
  disk.beforeCall = () => {
    count += 1;
    if (count >= place) throw makeDiskError("EIO");
  };
  return disk;
}

describe("a checkpoint that fails", () => {
  for (const code of ["ENOSPC", "EIO"]) {
    test(`with ${code} at any of its writes leaves no byte behind, and the next one succeeds`, async () => {
      const { folder, open, state } = await unfolded();
      const before = filesOf(folder);
      let failed = 0;
      for (let place = 1; ; place += 1) {
        const copy = copyFolder(folder);
        const disk = new FaultyDisk();
        failCallAt(disk, place, code, "write");
        const why = await failure(checkpoint(disk, copy, open));
        if (why === null) break;
        expect([place, filesOf(copy)]).toEqual([place, before]);
        await checkpoint(realDisk, copy, open);
        expect([place, await coveredBy(copy)]).toEqual([place, open - 1]);
        expect((await openAndCloseFolder(copy)).state).toEqual(state);
        failed += 1;
      }
      expect(failed).toBeGreaterThan(8);
    });
  }

  test("for want of room that nobody knew of leaves no byte behind", async () => {
    const { folder, open } = await unfolded();
    const before = filesOf(folder);
    let failed = 0;
    for (let room = 0; ; room += 97) {
      const copy = copyFolder(folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = room;
      disk.reportedFreeBytes = Infinity;
      const why = await failure(checkpoint(disk, copy, open));
      if (why === null) break;
      expect(why).toContain("ENOSPC");
      expect([room, filesOf(copy)]).toEqual([room, before]);
      failed += 1;
    }
    expect(failed).toBeGreaterThan(20);
  });

  test("at any other call takes no room either", async () => {
    const { folder, open } = await unfolded();
    const before = sizesOf(folder);
    let failed = 0;
    for (let place = 1; ; place += 1) {
      const copy = copyFolder(folder);
      const disk = new FaultyDisk();
      failCallAt(disk, place, "EIO");
      const why = await failure(checkpoint(disk, copy, open));
      if (disk.calls.length < place) break;
      if (why !== null) failed += 1;
      const isDone = (await coveredBy(copy)) === open - 1;
      if (!isDone) expect([place, sizesOf(copy)]).toEqual([place, before]);
      expect([place, existsSync(join(copy, "state.json.new"))]).toEqual([place, false]);
    }
    expect(failed).toBeGreaterThan(30);
  });
});

const inMiB = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(2)} MiB`;

describe("a checkpoint that does not fit", () => {
  test("is not begun, says what it needs, and is made when there is room", async () => {
    const { folder, open, state } = await unfolded();
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
    const why = await failure(checkpoint(disk, folder, open));
    expect(why).toContain(`the next checkpoint needs ${inMiB(needed)} on the disk of ${folder}`);
    expect(why).toContain(`but only ${inMiB(needed - 1)}`);
    expect(disk.listCalls("write", "truncate", "rename", "remove")).toEqual([]);
    expect(filesOf(folder)).toEqual(before);
    // A little more than it takes: how long the new state's own line on the audit log is.
    disk.bytesLeft = needed + 200;
    await checkpoint(disk, folder, open);
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
  });

  test("is begun on a disk that does not say how much room it has", async () => {
    const { folder, open } = await unfolded();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name }) => {
      if (name === "freeBytes") throw makeDiskError("ENOSYS");
    };
    await checkpoint(disk, folder, open);
    expect(await coveredBy(folder)).toBe(open - 1);
  });
});

describe("a checkpoint that was killed", () => {
  test("takes no room once its server has noticed", async () => {
    const calls = new FaultyDisk();
    const whole = await unfolded();
    await checkpoint(calls, copyFolder(whole.folder), whole.open);
    let left = 0;
    for (let place = 1; place <= calls.calls.length; place += 1) {
      const folder = copyFolder(whole.folder);
      const before = sizesOf(folder);
      const { store, stop } = await openSite({
        folder,
        checkpoint: (path, open) => checkpoint(killedAt(place), path, open),
      });
      await store.checkpoint();
      expect(store.health().checkpointError).toContain("EIO");
      const isDone = (await coveredBy(folder)) !== 3;
      if (!isDone) {
        const more = sizesOf(folder) - before;
        // Less than a line begins with: what it was cannot be told.
        expect([place, more < 128]).toEqual([place, true]);
        left += 1;
      }
      expect(existsSync(join(folder, "state.json.new"))).toBe(false);
      await stop();
    }
    expect(left).toBeGreaterThan(30);
  });

  test("takes no room after the next start, which finds everything", async () => {
    const whole = await unfolded();
    const before = filesOf(whole.folder);
    let took = 0;
    for (let place = 1; ; place += 1) {
      const folder = copyFolder(whole.folder);
      const why = await failure(checkpoint(killedAt(place), folder, whole.open));
      if (why === null || (await coveredBy(folder)) === whole.open - 1) break;
      if (sizesOf(folder) > sizesOf(whole.folder)) took += 1;
      expect(await openAndCloseFolder(folder)).toMatchObject({ state: whole.state, notes: [] });
      // A file that was only begun holds nothing.
      const { "history/2026-04.jsonl": begun = "600 ", ...files } = filesOf(folder);
      expect([place, begun, files]).toEqual([place, "600 ", before]);
    }
    expect(took).toBeGreaterThan(5);
  });
});

describe("what lies behind the end of the audit log", () => {
  const history = (folder: string): string[] => readdirSync(join(folder, "history")).toSorted();

  test("is kept by a start when the journal does not have it", async () => {
    const { folder, open } = await unfolded();
    const newer = copyFolder(folder);
    await checkpoint(realDisk, newer, open);
    const path = join(folder, "history", "2026-03.jsonl");
    const march = readFileSync(join(newer, "history", "2026-03.jsonl"));
    // Of a journal that went on after this one was copied.
    const [line] = readLines(join(newer, "history", "2026-04.jsonl"));
    const foreign = (line?.raw.toString() ?? "").replace(/"audit_seq":\d+/, '"audit_seq":99');
    writeFileSync(path, Buffer.concat([march, Buffer.from(foreign)]));
    writeFileSync(join(folder, "history", "2026-05.jsonl"), foreign);
    const before = filesOf(folder);
    await openAndCloseFolder(folder);
    expect(filesOf(folder)).toEqual(before);
  });

  test("is kept by a start when it cannot be read", async () => {
    const { folder } = await unfolded();
    writeFileSync(join(folder, "history", "2026-02.jsonl"), "noise\nmore of it\n");
    writeFileSync(join(folder, "history", "2026-05.jsonl"), "noise");
    writeFileSync(join(folder, "history", "notes.txt"), "somebody's own");
    const before = filesOf(folder);
    await openAndCloseFolder(folder);
    expect(filesOf(folder)).toEqual(before);
    expect(history(folder)).toContain("notes.txt");
  });

  test("is not cut where the state and the file do not agree on the last line", async () => {
    const { folder } = await unfolded();
    const path = join(folder, "history", "2026-03.jsonl");
    const lines = readLines(path);
    const [first] = lines;
    if (first === undefined) throw new Error("no line");
    // A line too many in the middle: the end that the state tells is within another line.
    writeFileSync(path, Buffer.concat([first.raw, ...lines.map(({ raw }) => raw)]));
    const before = filesOf(folder);
    await openAndCloseFolder(folder);
    expect(filesOf(folder)).toEqual(before);
  });
});

describe("a checkpoint is tried again", () => {
  test("by itself once a full disk has room again", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await openLicensedSite({
      disk,
      checkpoint: (path, open) => checkpoint(disk, path, open),
    });
    disk.bytesLeft = 2_000;
    await store.checkpoint();
    expect(store.health().checkpointError).toContain("MiB are free");
    const { seq } = store.health();
    disk.bytesLeft = 0;
    expect(await transactCommand(store, register("ada"))).toMatchObject({
      fault: { code: "storage_full" },
    });
    expect(await coveredBy(folder)).toBe(0);
    disk.bytesLeft = Infinity;
    await waitUntil(async () => (await coveredBy(folder)) === seq);
    await waitUntil(() => store.health().checkpointError === null);
    await transactOrThrow(store, register("ada"));
  });

  test("by itself a minute later, and only what is closed is folded", async () => {
    const told = { fails: true };
    const clock = spyOn(performance, "now");
    const { store, folder } = await openLicensedSite({
      checkpoint: async (path, open) => {
        if (told.fails) throw new Error("out of memory");
        await checkpoint(realDisk, path, open);
      },
    });
    try {
      await store.checkpoint();
      expect(store.health().checkpointError).toBe("out of memory");
      await transactOrThrow(store, register("ada"));
      told.fails = false;
      const since = performance.now();
      clock.mockImplementation(() => since + 61_000);
      await waitUntil(() => store.health().checkpointError === null);
      expect(await coveredBy(folder)).toBe(2);
      expect(store.health().journalBytes).toBeGreaterThan(0);
    } finally {
      clock.mockRestore();
    }
  });
});

test("a segment that is appended to while a checkpoint fails is left alone by what is cut", async () => {
  const { folder, open, state } = await unfolded();
  const path = join(folder, `journal-${open}.jsonl`);
  const before = readFileSync(path);
  await failure(checkpoint(killedAt(30), folder, open));
  appendFileSync(path, '{"seq":');
  const { state: found } = await openAndCloseFolder(folder);
  expect(found).toEqual(state);
  expect(readFileSync(path)).toEqual(before);
});
