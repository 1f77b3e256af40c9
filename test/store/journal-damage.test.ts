// The second row of the start-up table: damage that no interrupted write leaves behind.
import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { evolve } from "../../src/domain/evolve.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { encodeLine, genesisHead, scanSegment } from "../../src/store/journal.ts";
import { emptyAuditLogEnd } from "../../src/store/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/store/state-rows.ts";
import { StateFile } from "../../src/store/state-file.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  INSTALL_CAD,
  openLicensedSite,
  readLines,
  openSite,
  catchFolderRefusal,
  listSegmentNames,
  openAndCloseFolder,
  type RawLine,
} from "../support/licensed-store.ts";
import { MONDAY, register, slotTaken } from "../support/scenario.ts";
import { contentsOf, copyFolder } from "../support/temp-folder.ts";

/** Refused, with everything these words say, and not a byte in the folder touched. */
async function refuses(folder: string, ...words: readonly string[]): Promise<void> {
  const before = contentsOf(folder);
  const { message, hint } = await catchFolderRefusal(folder);
  for (const word of words) expect(message).toContain(word);
  expect(hint).toContain("backup");
  expect(contentsOf(folder)).toEqual(before);
}

interface Killed {
  readonly folder: string;
  readonly path: string;
  readonly lines: readonly RawLine[];
}

/** One segment of five batches: Created, the license, ada and bob together, cem, dua. */
async function killed(): Promise<Killed> {
  const { store, folder } = await openLicensedSite();
  await transactInOneBatch(store, register("ada"), register("bob"));
  await transactOrThrow(store, register("cem"));
  await transactOrThrow(store, register("dua"));
  const copy = copyFolder(folder);
  const path = join(copy, "journal-1.jsonl");
  return { folder: copy, path, lines: readLines(path) };
}

const rewritten = (path: string, lines: readonly RawLine[], ...order: readonly number[]): void =>
  writeFileSync(path, Buffer.concat(order.map((place) => lines[place]?.raw ?? Buffer.alloc(0))));

/** Four segments, none folded, the newest with two lines: 1-2, 3-4, 5-6, 7-8. */
async function segmented(): Promise<string> {
  const { store, folder } = await openSite({ checkpoint: async () => {} });
  await transactOrThrow(store, INSTALL_CAD);
  for (const [first, second] of [
    ["ada", "bob"],
    ["cem", "dua"],
    ["eve", "fay"],
  ] as const) {
    await store.checkpoint();
    await transactOrThrow(store, register(first));
    await transactOrThrow(store, register(second));
  }
  const copy = copyFolder(folder);
  expect(listSegmentNames(copy)).toEqual([1, 3, 5, 7].map((first) => `journal-${first}.jsonl`));
  expect((await openAndCloseFolder(copy)).seq).toBe(8);
  return copy;
}

describe("damage in an earlier batch is refused with file, offset and line", () => {
  test("a bit flipped", async () => {
    const { folder, path, lines } = await killed();
    for (const place of [0, 1, 2, 3, 4]) {
      const offset = lines[place]?.offset ?? 0;
      const bytes = Buffer.concat(lines.map(({ raw }) => raw));
      bytes[offset + 40] = (bytes[offset + 40] ?? 0) ^ 4;
      writeFileSync(path, bytes);
      await refuses(folder, `${path} is damaged at byte ${offset}`, `line ${place + 1} `);
    }
  });

  test("a line feed lost before the last line", async () => {
    const { folder, path, lines } = await killed();
    const bytes = Buffer.concat(lines.map(({ raw }) => raw));
    bytes[(lines[5]?.offset ?? 0) - 1] = 0;
    writeFileSync(path, bytes);
    await refuses(folder, `${path} is damaged at byte ${lines[4]?.offset}`, "line 5 ");
  });

  test("a line zeroed", async () => {
    const { folder, path, lines } = await killed();
    for (const place of [1, 2, 3, 4]) {
      const { offset = 0, raw } = lines[place] ?? {};
      const bytes = Buffer.concat(lines.map((line) => line.raw));
      bytes.fill(0, offset, offset + (raw?.length ?? 0));
      writeFileSync(path, bytes);
      await refuses(folder, `${path} is damaged at byte ${offset}`, `line ${place + 1} `);
    }
  });

  test.each([
    ["a gap", [0, 1, 2, 4, 5], 3],
    ["a gap before the last line", [0, 1, 2, 3, 5], 4],
    ["the first line gone", [1, 2, 3, 4, 5], 0],
    ["a repeat", [0, 1, 2, 3, 3, 4, 5], 4],
    ["a repeat at the end", [0, 1, 2, 3, 4, 5, 5], 6],
    ["a swapped pair", [0, 1, 3, 2, 4, 5], 2],
    ["a swapped pair at the end", [0, 1, 2, 3, 5, 4], 4],
  ])("%s", async (_name, order, good) => {
    const { folder, path, lines } = await killed();
    rewritten(path, lines, ...order);
    const offset = lines[good]?.offset ?? readFileSync(path).length - (lines[5]?.raw.length ?? 0);
    await refuses(folder, `${path} is damaged at byte ${offset}`, `line ${good + 1} `);
  });

  test("a good line with a wrong hash of the one before", async () => {
    const { folder, path, lines } = await killed();
    const { line: last, offset = 0 } = lines[5] ?? {};
    if (last === undefined) throw new Error("no last line");
    const strange = { ...genesisHead, seq: 5, auditSeq: 5 };
    rewritten(path, lines, 0, 1, 2, 3, 4);
    appendFileSync(path, encodeLine(strange, null, last.at, last.events).text);
    await refuses(folder, `${path} is damaged at byte ${offset}`, "line 6 ");
  });

  test("every line of several batches with another line end", async () => {
    const { folder, path } = await killed();
    writeFileSync(path, readFileSync(path, "latin1").replaceAll("\n", "\r\n"), "latin1");
    await refuses(folder, `${path} is damaged at byte 0`, "line 1 ");
  });

  test("every line of several batches changed in its second half", async () => {
    const { folder, path, lines } = await killed();
    const bytes = Buffer.concat(lines.map(({ raw }) => raw));
    for (const { offset, raw } of lines) bytes.fill(0, offset + 150, offset + raw.length);
    writeFileSync(path, bytes);
    await refuses(folder, `${path} is damaged at byte 0`, "line 1 ");
  });

  test("a bad line before a synced batch that was cut short", async () => {
    const { folder, path, lines } = await killed();
    const { offset = 0, raw } = lines[4] ?? {};
    const bytes = Buffer.concat(lines.map((line) => line.raw));
    bytes.fill(0, offset, offset + (raw?.length ?? 0));
    writeFileSync(path, bytes.subarray(0, bytes.length - 60));
    await refuses(folder, `${path} is damaged at byte ${offset}`, "line 5 ");
  });

  test("a line that chains and cannot have happened", async () => {
    const { folder, path } = await killed();
    const { head } = scanSegment(new Uint8Array(readFileSync(path)), genesisHead, () => {});
    appendFileSync(path, encodeLine(head, null, MONDAY, [slotTaken("ada", { slot: 9 })]).text);
    const before = contentsOf(folder);
    expect((await catchFolderRefusal(folder)).message).toContain(
      `${path}: line 7 cannot be applied`,
    );
    expect(contentsOf(folder)).toEqual(before);
  });
});

describe("damage in an earlier segment is refused, even at its end", () => {
  test("a torn tail", async () => {
    const folder = await segmented();
    const path = join(folder, "journal-5.jsonl");
    const [, last] = readLines(path);
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    await refuses(folder, `${path} is damaged at byte ${last?.offset}`, "line 6 ");
  });

  test("a torn tail before a segment that is still empty", async () => {
    const folder = await segmented();
    writeFileSync(join(folder, "journal-9.jsonl"), "");
    expect((await openAndCloseFolder(folder)).seq).toBe(8);
    const path = join(folder, "journal-7.jsonl");
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    await refuses(folder, path, "line 8 ");
  });

  test("a last line gone, so that the next segment does not follow", async () => {
    const folder = await segmented();
    const path = join(folder, "journal-5.jsonl");
    writeFileSync(path, readLines(path)[0]?.raw ?? "");
    await refuses(folder, folder, "lines 6 to 6");
  });
});

describe("a segment or state that does not chain is refused with the lines it is about", () => {
  test("a segment missing in the middle", async () => {
    const folder = await segmented();
    rmSync(join(folder, "journal-3.jsonl"));
    await refuses(folder, "lines 3 to 4", join(folder, "journal-3.jsonl"));
  });

  test("the first segment missing: a state behind its journal", async () => {
    const folder = await segmented();
    rmSync(join(folder, "journal-1.jsonl"));
    await refuses(folder, "lines 1 to 2", join(folder, "journal-1.jsonl"));
  });

  test("a segment under another's name", async () => {
    const folder = await segmented();
    renameSync(join(folder, "journal-7.jsonl"), join(folder, "journal-8.jsonl"));
    await refuses(folder, "lines 7 to 7");
  });

  test("a segment of another folder", async () => {
    const folder = await segmented();
    const path = join(folder, "journal-7.jsonl");
    const { text } = encodeLine({ ...genesisHead, seq: 6, auditSeq: 6 }, null, MONDAY, []);
    writeFileSync(path, text);
    await refuses(folder, `${path} is damaged at byte 0`, "line 7 ");
  });

  test("a state ahead of its journal", async () => {
    const { store, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    const copy = copyFolder(folder);
    rmSync(join(copy, "journal-4.jsonl"));
    await refuses(copy, "line 4 on", join(copy, "journal-4.jsonl"));
  });

  test("a state without any journal", async () => {
    const { folder } = await openLicensedSite();
    const copy = copyFolder(folder);
    rmSync(join(copy, "journal-1.jsonl"));
    await refuses(copy, "line 1 on", join(copy, "journal-1.jsonl"));
  });

  test("a state that stands in the middle of a segment", async () => {
    const folder = await segmented();
    const file = new StateFile(realDisk, folder);
    const first = await file.read();
    if (first === null) throw new Error("no state");
    const state = decodeSnapshot(first);
    const [one] = readLines(join(folder, "journal-1.jsonl"));
    if (one === undefined) throw new Error("no line");
    for (const event of one.line.events) evolve(state, event);
    const { head } = scanSegment(new Uint8Array(one.raw), genesisHead, () => {});
    await file.write(encodeSnapshot(state, head, emptyAuditLogEnd), null);
    await refuses(folder, "lines 2 to 2");
  });

  test("a state with another hash for the line it stands at", async () => {
    const folder = await segmented();
    const file = new StateFile(realDisk, folder);
    const first = await file.read();
    if (first === null) throw new Error("no state");
    await file.write({ ...first, covers: { seq: 0, sum: "ab".repeat(32) } }, null);
    await refuses(folder, `${join(folder, "journal-1.jsonl")} is damaged at byte 0`, "line 1 ");
  });
});
