// The first row of the start-up table: damage in the last batch of the newest segment.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  dumpStateSorted,
  unwrap,
  openLicensedSite,
  readLines,
  openSite,
  listSegmentNames,
  openAndCloseFolder,
  readState,
  type StateDump,
} from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import { contentsOf, copyFolder, modeOf } from "../../support/temp-folder.ts";

interface KilledSite {
  readonly folder: string;
  readonly path: string;
  readonly bytes: Buffer<ArrayBuffer>;
  /** Offsets at which the lines of the last batch begin, and the offset of its end. */
  readonly offsets: readonly number[];
  /** The state before the last batch, and after each of its lines. */
  readonly states: readonly StateDump[];
}

/** A site killed after a last batch of three lines, in the newer of two segments. */
async function prepareKilledSite(): Promise<KilledSite> {
  const { store, folder } = await openLicensedSite();
  await transactOrThrow(store, register("ada"));
  await store.checkpoint();
  await transactOrThrow(store, register("bob"));
  const states = [await readState(store)];
  const last = ["cem", "dua", "eve"].map((user) => store.transact(register(user), dumpStateSorted));
  for (const answer of last) states.push(unwrap(await answer));
  const copy = copyFolder(folder);
  const path = join(copy, listSegmentNames(copy).at(-1) ?? "");
  const lines = readLines(path);
  expect(lines.map(({ line }) => line.seq - line.from)).toEqual([0, 0, 1, 2]);
  const bytes = readFileSync(path);
  const offsets = [...lines.slice(1).map(({ offset }) => offset), bytes.length];
  return { folder: copy, path, bytes, offsets, states };
}

/** The number of lines of the last batch that end at or before this byte. */
const countCompleteLines = ({ offsets }: KilledSite, at: number): number =>
  offsets.slice(1).filter((end) => end <= at).length;

const tornFilePath = (path: string, end: number): string => `${path}.${end}.torn`;

describe("torn tail in the last batch", () => {
  test("is cut at the first incomplete line, wherever the write ended, and the start succeeds", async () => {
    const site = await prepareKilledSite();
    const { folder, path, bytes, offsets, states } = site;
    const disk = new FaultyDisk();
    disk.hasRealSync = false;
    const isAtEndOfLine = (at: number): boolean =>
      [...offsets, bytes.length].some((end) => Math.abs(at - end) <= 3);
    for (let at = offsets[0] ?? 0; at <= bytes.length; at += 1) {
      // All places inside a line are alike.
      if (at % 7 !== 0 && !isAtEndOfLine(at)) continue;
      writeFileSync(path, bytes.subarray(0, at));
      const { state, notes } = await openAndCloseFolder(folder, { disk });
      const completeLines = countCompleteLines(site, at);
      const end = offsets[completeLines] ?? 0;
      expect(state).toEqual(states[completeLines] as StateDump);
      expect(readFileSync(path)).toEqual(bytes.subarray(0, end));
      if (end === at) expect(notes).toEqual([]);
      else {
        expect(notes).toHaveLength(1);
        expect(readFileSync(tornFilePath(path, end))).toEqual(bytes.subarray(end, at));
      }
    }
  });

  test("is reported once, and the next start has no notes", async () => {
    const { folder, path, bytes, offsets } = await prepareKilledSite();
    writeFileSync(path, bytes.subarray(0, bytes.length - 1));
    const first = await openAndCloseFolder(folder);
    const cut = bytes.length - 1 - (offsets[2] ?? 0);
    const torn = tornFilePath(path, offsets[2] ?? 0);
    expect(first.notes).toEqual([
      `${path} ended in an interrupted write: ${cut} bytes that were never acknowledged were moved to ${torn}`,
    ]);
    expect(modeOf(torn)).toBe("600");
    const before = contentsOf(folder);
    const second = await openAndCloseFolder(folder);
    expect(second).toEqual({ ...first, notes: [] });
    expect(contentsOf(folder)).toEqual(before);
  });

  test("is reported in the notes of the store's health", async () => {
    const { folder, path, bytes } = await prepareKilledSite();
    writeFileSync(path, bytes.subarray(0, bytes.length - 1));
    const { store } = await openSite({ folder });
    expect(store.status().notes).toEqual([expect.stringContaining(path)]);
  });

  test("is synced in its copy before it is cut from the journal", async () => {
    const { folder, path, bytes, offsets } = await prepareKilledSite();
    writeFileSync(path, bytes.subarray(0, bytes.length - 1));
    const disk = new FaultyDisk();
    await openAndCloseFolder(folder, { disk });
    const segment = listSegmentNames(folder).at(-1) ?? "";
    const torn = `${segment}.${offsets[2]}.torn`;
    const calls = disk.listCalls("write", "truncate", "sync", "syncFolder");
    expect(calls.slice(calls.indexOf(`write ${torn}`)).slice(0, 5)).toEqual([
      `write ${torn}`,
      `sync ${torn}`,
      `truncate ${segment}`,
      `sync ${segment}`,
      "syncFolder data",
    ]);
  });

  test("may begin at any line of the batch, because lines reach the disk in any order", async () => {
    const { folder, path, bytes, offsets, states } = await prepareKilledSite();
    for (const bad of [0, 1, 2]) {
      const [from = 0, to = 0] = offsets.slice(bad);
      writeFileSync(path, Buffer.from(bytes).fill(0, from, to));
      const { state, notes } = await openAndCloseFolder(folder);
      expect(state).toEqual(states[bad] as StateDump);
      expect(notes).toHaveLength(1);
      expect(readFileSync(path)).toEqual(bytes.subarray(0, from));
    }
  });

  test("may consist of zeros, an empty line or lines that are not journal lines", async () => {
    const { folder, path, bytes, states } = await prepareKilledSite();
    for (const tail of [Buffer.alloc(4096), Buffer.from("\n"), Buffer.from("{}\n{}\n")]) {
      writeFileSync(path, Buffer.concat([bytes, tail]));
      expect((await openAndCloseFolder(folder)).state).toEqual(states.at(-1) as StateDump);
      expect(readFileSync(path)).toEqual(bytes);
      expect(readFileSync(tornFilePath(path, bytes.length))).toEqual(tail);
    }
  });

  test("may be all of a new segment", async () => {
    const { store, folder } = await openLicensedSite();
    await store.checkpoint();
    const before = await readState(store);
    await transactInOneBatch(store, register("ada"), register("bob"));
    const copy = copyFolder(folder);
    const path = join(copy, listSegmentNames(copy).at(-1) ?? "");
    writeFileSync(path, readFileSync(path).subarray(0, 9));
    expect((await openAndCloseFolder(copy)).state).toEqual(before);
    expect(readFileSync(path)).toHaveLength(0);
  });

  test("may be a batch that fills its segment and has every line damaged", async () => {
    const { store, folder } = await openLicensedSite();
    await store.checkpoint();
    const before = await readState(store);
    await transactInOneBatch(store, register("ada"), register("bob"), register("cem"));
    const copy = copyFolder(folder);
    const path = join(copy, listSegmentNames(copy).at(-1) ?? "");
    const lines = readLines(path);
    const bytes = readFileSync(path);
    for (const { offset, raw } of lines) bytes.fill(0, offset + 150, offset + raw.length);
    writeFileSync(path, bytes);
    expect(await openAndCloseFolder(copy)).toMatchObject({
      state: before,
      notes: [expect.stringContaining(path)],
    });
    expect(readFileSync(tornFilePath(path, 0))).toEqual(bytes);
  });

  test("leaves a journal that continues after the last good line", async () => {
    const { folder, path, bytes, offsets } = await prepareKilledSite();
    writeFileSync(path, bytes.subarray(0, (offsets[1] ?? 0) + 9));
    const site = await openSite({ folder });
    await transactOrThrow(site.store, register("zoe"));
    const state = await readState(site.store);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(state);
    expect(realDisk.read(path)?.subarray(0, offsets[1])).toEqual(
      new Uint8Array(bytes.subarray(0, offsets[1])),
    );
  });

  test("is not cut when its copy cannot be written", async () => {
    const { folder, path, bytes, offsets } = await prepareKilledSite();
    const torn = bytes.subarray(0, bytes.length - 1);
    writeFileSync(path, torn);
    const disk = new FaultyDisk();
    disk.bytesLeft = 5;
    expect(openAndCloseFolder(folder, { disk })).rejects.toThrow("ENOSPC");
    expect(readFileSync(path)).toEqual(torn);
    const { notes } = await openAndCloseFolder(folder);
    expect(notes).toHaveLength(1);
    expect(existsSync(tornFilePath(path, offsets[2] ?? 0))).toBe(true);
  });
});
