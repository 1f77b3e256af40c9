// The second row of the start-up table: damage that no interrupted write leaves behind.
import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { encodeLine, genesisHead, scanSegment } from "../../../src/store/journal/journal.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
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
} from "../../support/licensed-store.ts";
import { MONDAY, register, slotTaken } from "../../support/scenario.ts";
import { contentsOf, copyFolder } from "../../support/temp-folder.ts";

/** Checks that the folder is refused with all these texts, and that no byte in it changes. */
async function expectRefusal(folder: string, ...texts: readonly string[]): Promise<void> {
  const before = contentsOf(folder);
  const { message, hint } = await catchFolderRefusal(folder);
  for (const text of texts) expect(message).toContain(text);
  expect(hint).toContain("backup");
  expect(contentsOf(folder)).toEqual(before);
}

interface KilledSite {
  readonly folder: string;
  readonly path: string;
  readonly lines: readonly RawLine[];
}

/** One segment of five batches: Created, the license, ada and bob together, cem, dua. */
async function prepareKilledSite(): Promise<KilledSite> {
  const { store, folder } = await openLicensedSite();
  await transactInOneBatch(store, register("ada"), register("bob"));
  await transactOrThrow(store, register("cem"));
  await transactOrThrow(store, register("dua"));
  const copy = copyFolder(folder);
  const path = join(copy, "journal-1.jsonl");
  return { folder: copy, path, lines: readLines(path) };
}

const writeLinesInOrder = (
  path: string,
  lines: readonly RawLine[],
  ...order: readonly number[]
): void =>
  writeFileSync(path, Buffer.concat(order.map((index) => lines[index]?.raw ?? Buffer.alloc(0))));

/** Four segments that no checkpoint covers, with two lines each: 1-2, 3-4, 5-6, 7-8. */
async function prepareFourSegments(): Promise<string> {
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

describe("a start refuses, with file, offset and line, an earlier batch", () => {
  test("with a flipped bit", async () => {
    const { folder, path, lines } = await prepareKilledSite();
    for (const index of [0, 1, 2, 3, 4]) {
      const offset = lines[index]?.offset ?? 0;
      const bytes = Buffer.concat(lines.map(({ raw }) => raw));
      bytes[offset + 40] = (bytes[offset + 40] ?? 0) ^ 4;
      writeFileSync(path, bytes);
      await expectRefusal(folder, `${path} is damaged at byte ${offset}`, `line ${index + 1} `);
    }
  });

  test("without the line feed before the last line", async () => {
    const { folder, path, lines } = await prepareKilledSite();
    const bytes = Buffer.concat(lines.map(({ raw }) => raw));
    bytes[(lines[5]?.offset ?? 0) - 1] = 0;
    writeFileSync(path, bytes);
    await expectRefusal(folder, `${path} is damaged at byte ${lines[4]?.offset}`, "line 5 ");
  });

  test("with a line of zeros", async () => {
    const { folder, path, lines } = await prepareKilledSite();
    for (const index of [1, 2, 3, 4]) {
      const { offset = 0, raw } = lines[index] ?? {};
      const bytes = Buffer.concat(lines.map((line) => line.raw));
      bytes.fill(0, offset, offset + (raw?.length ?? 0));
      writeFileSync(path, bytes);
      await expectRefusal(folder, `${path} is damaged at byte ${offset}`, `line ${index + 1} `);
    }
  });

  test.each([
    ["a missing line", [0, 1, 2, 4, 5], 3],
    ["the line before the last missing", [0, 1, 2, 3, 5], 4],
    ["the first line missing", [1, 2, 3, 4, 5], 0],
    ["a repeated line", [0, 1, 2, 3, 3, 4, 5], 4],
    ["the last line repeated", [0, 1, 2, 3, 4, 5, 5], 6],
    ["two lines swapped", [0, 1, 3, 2, 4, 5], 2],
    ["the last two lines swapped", [0, 1, 2, 3, 5, 4], 4],
  ])("with %s", async (_name, order, goodLines) => {
    const { folder, path, lines } = await prepareKilledSite();
    writeLinesInOrder(path, lines, ...order);
    const offset =
      lines[goodLines]?.offset ?? readFileSync(path).length - (lines[5]?.raw.length ?? 0);
    await expectRefusal(folder, `${path} is damaged at byte ${offset}`, `line ${goodLines + 1} `);
  });

  test("followed by a valid line with a wrong hash of the line before", async () => {
    const { folder, path, lines } = await prepareKilledSite();
    const { line: last, offset = 0 } = lines[5] ?? {};
    if (last === undefined) throw new Error("no last line");
    const wrongHead = { ...genesisHead, seq: 5, auditSeq: 5 };
    writeLinesInOrder(path, lines, 0, 1, 2, 3, 4);
    appendFileSync(path, encodeLine(wrongHead, null, last.at, last.events).text);
    await expectRefusal(folder, `${path} is damaged at byte ${offset}`, "line 6 ");
  });

  test("when every line ends with CR LF", async () => {
    const { folder, path } = await prepareKilledSite();
    writeFileSync(path, readFileSync(path, "latin1").replaceAll("\n", "\r\n"), "latin1");
    await expectRefusal(folder, `${path} is damaged at byte 0`, "line 1 ");
  });

  test("when every line is damaged in its second half", async () => {
    const { folder, path, lines } = await prepareKilledSite();
    const bytes = Buffer.concat(lines.map(({ raw }) => raw));
    for (const { offset, raw } of lines) bytes.fill(0, offset + 150, offset + raw.length);
    writeFileSync(path, bytes);
    await expectRefusal(folder, `${path} is damaged at byte 0`, "line 1 ");
  });

  test("with a bad line before a last batch that was cut short", async () => {
    const { folder, path, lines } = await prepareKilledSite();
    const { offset = 0, raw } = lines[4] ?? {};
    const bytes = Buffer.concat(lines.map((line) => line.raw));
    bytes.fill(0, offset, offset + (raw?.length ?? 0));
    writeFileSync(path, bytes.subarray(0, bytes.length - 60));
    await expectRefusal(folder, `${path} is damaged at byte ${offset}`, "line 5 ");
  });

  test("followed by a correctly chained line whose event cannot be applied", async () => {
    const { folder, path } = await prepareKilledSite();
    const { head } = scanSegment(new Uint8Array(readFileSync(path)), genesisHead, () => {});
    appendFileSync(path, encodeLine(head, null, MONDAY, [slotTaken("ada", { slot: 9 })]).text);
    const before = contentsOf(folder);
    expect((await catchFolderRefusal(folder)).message).toContain(
      `${path}: line 7 cannot be applied`,
    );
    expect(contentsOf(folder)).toEqual(before);
  });
});

describe("a start refuses an earlier segment", () => {
  test("with a torn tail", async () => {
    const folder = await prepareFourSegments();
    const path = join(folder, "journal-5.jsonl");
    const [, last] = readLines(path);
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    await expectRefusal(folder, `${path} is damaged at byte ${last?.offset}`, "line 6 ");
  });

  test("with a torn tail before an empty segment", async () => {
    const folder = await prepareFourSegments();
    writeFileSync(join(folder, "journal-9.jsonl"), "");
    expect((await openAndCloseFolder(folder)).seq).toBe(8);
    const path = join(folder, "journal-7.jsonl");
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    await expectRefusal(folder, path, "line 8 ");
  });

  test("without its last line, because the next segment does not continue it", async () => {
    const folder = await prepareFourSegments();
    const path = join(folder, "journal-5.jsonl");
    writeFileSync(path, readLines(path)[0]?.raw ?? "");
    await expectRefusal(folder, folder, "lines 6 to 6");
  });
});

describe("a start refuses, with the numbers of the lines,", () => {
  test("a journal without a segment in the middle", async () => {
    const folder = await prepareFourSegments();
    rmSync(join(folder, "journal-3.jsonl"));
    await expectRefusal(folder, "lines 3 to 4", join(folder, "journal-3.jsonl"));
  });

  test("a journal without the first segment after the state", async () => {
    const folder = await prepareFourSegments();
    rmSync(join(folder, "journal-1.jsonl"));
    await expectRefusal(folder, "lines 1 to 2", join(folder, "journal-1.jsonl"));
  });

  test("a segment that was renamed to another first line", async () => {
    const folder = await prepareFourSegments();
    renameSync(join(folder, "journal-7.jsonl"), join(folder, "journal-8.jsonl"));
    await expectRefusal(folder, "lines 7 to 7");
  });

  test("a segment of another folder", async () => {
    const folder = await prepareFourSegments();
    const path = join(folder, "journal-7.jsonl");
    const { text } = encodeLine({ ...genesisHead, seq: 6, auditSeq: 6 }, null, MONDAY, []);
    writeFileSync(path, text);
    await expectRefusal(folder, `${path} is damaged at byte 0`, "line 7 ");
  });

  test("a state that is newer than its journal", async () => {
    const { store, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    const copy = copyFolder(folder);
    rmSync(join(copy, "journal-4.jsonl"));
    await expectRefusal(copy, "line 4 on", join(copy, "journal-4.jsonl"));
  });

  test("a state without any journal", async () => {
    const { folder } = await openLicensedSite();
    const copy = copyFolder(folder);
    rmSync(join(copy, "journal-1.jsonl"));
    await expectRefusal(copy, "line 1 on", join(copy, "journal-1.jsonl"));
  });

  test("a state that ends in the middle of a segment", async () => {
    const folder = await prepareFourSegments();
    const file = new StateFile(realDisk, folder);
    const first = await file.read();
    if (first === null) throw new Error("no state");
    const state = decodeSnapshot(first);
    const [firstLine] = readLines(join(folder, "journal-1.jsonl"));
    if (firstLine === undefined) throw new Error("no line");
    for (const event of firstLine.line.events) evolve(state, event);
    const { head } = scanSegment(new Uint8Array(firstLine.raw), genesisHead, () => {});
    await file.write(encodeSnapshot(state, head, emptyAuditLogEnd), null);
    await expectRefusal(folder, "lines 2 to 2");
  });

  test("a state with a wrong hash of its last line", async () => {
    const folder = await prepareFourSegments();
    const file = new StateFile(realDisk, folder);
    const first = await file.read();
    if (first === null) throw new Error("no state");
    await file.write({ ...first, covers: { seq: 0, sum: "ab".repeat(32) } }, null);
    await expectRefusal(
      folder,
      `${join(folder, "journal-1.jsonl")} is damaged at byte 0`,
      "line 1 ",
    );
  });
});
