import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { failCallAt, FaultyDisk } from "../support/faulty-disk.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  readLines,
  openLicensedSite,
  catchFolderRefusal,
  openAndCloseFolder,
  readState,
  type StateDump,
} from "../support/licensed-store.ts";
import { consume, register, utc } from "../support/scenario.ts";
import { contentsOf, copyFolder } from "../support/temp-folder.ts";

interface Killed {
  readonly folder: string;
  /** The segment that was being written; everything before it is there to be folded. */
  readonly open: number;
  readonly state: StateDump;
}

/** One checkpoint made; since then two segments closed, over a month's end, and a third begun. */
async function killed(): Promise<Killed> {
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

const history = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => name.startsWith("history")),
  );

/** What a folder should be like when the checkpoint was made at last. */
async function isFolded(folder: string, { open, state }: Killed, expected: Record<string, string>) {
  expect(await openAndCloseFolder(folder)).toMatchObject({ state, notes: [] });
  expect(history(folder)).toEqual(expected);
  expect(readFileSync(join(folder, "state.json"), "utf8")).toContain(
    `"covers":{"seq":${open - 1},`,
  );
  expect(readdirSync(folder)).not.toContain("state.json.new");
}

async function uninterrupted(site: Killed): Promise<Record<string, string>> {
  const folder = copyFolder(site.folder);
  await checkpoint(realDisk, folder, site.open);
  const files = history(folder);
  expect(Object.keys(files)).toEqual(["history", "history/2026-03.jsonl", "history/2026-04.jsonl"]);
  const names = readdirSync(join(folder, "history")).toSorted();
  const lines = names.flatMap((name) => readLines(join(folder, "history", name)));
  expect(lines.map(({ line }) => line.audit_seq)).toEqual(lines.map((_line, place) => place + 1));
  return files;
}

describe("an interrupted checkpoint", () => {
  test("at any call at all leaves a folder that starts, and the next one makes up for it", async () => {
    const site = await killed();
    const expected = await uninterrupted(site);
    let interrupted = 0;
    for (let place = 1; ; place += 1) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      failCallAt(disk, place, "EIO");
      const made = await checkpoint(disk, folder, site.open).then(
        () => true,
        () => false,
      );
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({
        state: site.state,
        notes: [],
      });
      await checkpoint(realDisk, folder, site.open);
      await isFolded(folder, site, expected);
      if (made && disk.calls.length < place) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(30);
  });

  test("for want of room leaves a folder that starts, and the next one makes up for it", async () => {
    const site = await killed();
    const expected = await uninterrupted(site);
    let interrupted = 0;
    for (let room = 0; ; room += 53) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = room;
      // It would not be begun: this is about room that is gone when it is under way.
      disk.reportedFreeBytes = Infinity;
      const made = await checkpoint(disk, folder, site.open).then(
        () => true,
        () => false,
      );
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({
        state: site.state,
        notes: [],
      });
      await checkpoint(realDisk, folder, site.open);
      await isFolded(folder, site, expected);
      if (made) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(30);
  });

  test("at any call leaves a way back, also when it is only made again", async () => {
    const site = await killed();
    for (let place = 1; ; place += 1) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      failCallAt(disk, place, "EIO");
      const made = await checkpoint(disk, folder, site.open).then(
        () => true,
        () => false,
      );
      await checkpoint(realDisk, folder, site.open);
      writeFileSync(join(folder, "state.json"), "");
      const { hint } = await catchFolderRefusal(folder);
      expect([place, hint.slice(0, 3), hint.includes("nothing is lost")]).toEqual([
        place,
        "cp ",
        true,
      ]);
      if (made && disk.calls.length < place) break;
    }
  });

  test("twice in a row, at any two calls, is no worse", async () => {
    const site = await killed();
    const expected = await uninterrupted(site);
    for (let place = 1; place < 45; place += 3) {
      const folder = copyFolder(site.folder);
      for (const next of [place, place + 4]) {
        const disk = new FaultyDisk();
        failCallAt(disk, next, "EIO");
        await checkpoint(disk, folder, site.open).catch(() => {});
      }
      await checkpoint(realDisk, folder, site.open);
      await isFolded(folder, site, expected);
    }
  });
});

describe("a checkpoint refuses to fold", () => {
  test("a damaged segment, and leaves the state alone", async () => {
    const site = await killed();
    const path = join(site.folder, "journal-4.jsonl");
    const bytes = readFileSync(path);
    bytes[60] = (bytes[60] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const before = readFileSync(join(site.folder, "state.json"));
    expect(checkpoint(realDisk, site.folder, site.open)).rejects.toThrow("is damaged at byte 0");
    expect(readFileSync(join(site.folder, "state.json"))).toEqual(before);
  });

  test("a segment that ends before it should, and leaves the state alone", async () => {
    const site = await killed();
    const path = join(site.folder, "journal-6.jsonl");
    const [first] = readLines(path);
    writeFileSync(path, first?.raw ?? "");
    const before = readFileSync(join(site.folder, "state.json"));
    expect(checkpoint(realDisk, site.folder, site.open)).rejects.toThrow("the journal ends at");
    expect(readFileSync(join(site.folder, "state.json"))).toEqual(before);
  });
});

test("a month whose only line has another number is not taken for the rest of a checkpoint", async () => {
  let fold = true;
  const { store, folder, clock } = await openLicensedSite({
    checkpoint: async (path, open) => {
      if (fold) await checkpoint(realDisk, path, open);
    },
  });
  for (const month of ["04", "05"]) {
    clock.now = utc(`2026-${month}-15T00:00:00Z`);
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
  }
  fold = false;
  for (const amount of [1, 2, 3]) await transactOrThrow(store, consume(amount));
  const copy = copyFolder(folder);
  const path = join(copy, "history", "2026-04.jsonl");
  const [only, ...more] = readLines(path);
  expect(more).toEqual([]);
  const seq = only?.line.audit_seq ?? 0;
  // Behind the end that the state knows, and not newer than the journal: April, May, one of three.
  const text = readFileSync(path, "utf8");
  const changed = text.replace(`"audit_seq":${seq},`, `"audit_seq":${seq + 2},`);
  expect(changed).not.toBe(text);
  writeFileSync(path, changed);
  await openAndCloseFolder(copy).catch(() => {});
  expect(readFileSync(path, "utf8")).toBe(changed);
});
