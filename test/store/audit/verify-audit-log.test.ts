// What `verify` reports about a damaged audit log.
import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../../src/domain/model/event.ts";
import { encodeLine } from "../../../src/store/journal/journal.ts";
import {
  openSiteWithKey,
  editFile,
  flipBit,
  checkpointKeepingMonths,
  catchRefusal,
  verifyFolder,
} from "../../support/backup-site.ts";
import { transactOrThrow, readLines, openAndCloseFolder } from "../../support/licensed-store.ts";
import { consume, utc } from "../../support/scenario.ts";
import { contentsOf, copyFolder } from "../../support/temp-folder.ts";

const FILES = ["03", "04", "05"].map((month) => `history/2026-${month}.jsonl`);
const [MARCH = "", APRIL = "", MAY = ""] = FILES;

/** Three months with three lines each; the first has two more, from the creation of the folder. */
async function prepareKilledSite(keep = 0): Promise<string> {
  const { folder, store, clock } = await openSiteWithKey({
    checkpoint: checkpointKeepingMonths(keep),
  });
  for (const month of ["03", "04", "05"]) {
    clock.now = utc(`2026-${month}-15T00:00:00Z`);
    for (const count of [1, 2, 3]) await transactOrThrow(store, consume(count));
    await store.checkpoint();
  }
  return copyFolder(folder);
}

/** The offset of this line of a file; for the index after the last line, the end of the file. */
function lineOffset(folder: string, name: string, index: number): number {
  const lines = readLines(join(folder, name));
  expect(index).toBeLessThanOrEqual(lines.length);
  return lines[index]?.offset ?? statSync(join(folder, name)).size;
}

/** Writes the lines in another order, with some repeated or left out. */
function rearrange(folder: string, name: string, order: readonly number[]): void {
  const lines = readLines(join(folder, name)).map(({ raw }) => Buffer.from(raw));
  writeFileSync(
    join(folder, name),
    Buffer.concat(order.map((index) => lines[index] ?? Buffer.alloc(0))),
  );
}

/** The hint names the remedy without loss first, and never a restore of the whole folder. */
const hintFor = (folder: string, name: string): string =>
  `licenses are not affected; to restore the file from a backup without loss, run as the folder's owner: tar xf BACKUP -C '${folder}' ${name}; without a backup, run berth audit repair`;

interface Case {
  readonly damage: (folder: string) => void;
  /** The file and the index of the line in the undamaged file. */
  readonly at?: readonly [name: string, index: number];
  /** The number of the audit log line that is expected there. */
  readonly line?: number;
  readonly missingLines?: readonly [from: number, to: number];
}

const cases: Readonly<Record<string, Case>> = {
  "a flipped bit in the middle of a file": {
    damage: (folder) => flipBit(join(folder, APRIL), lineOffset(folder, APRIL, 1) + 20),
    at: [APRIL, 1],
    line: 7,
  },
  "a flipped bit in the first line of the first file": {
    damage: (folder) => flipBit(join(folder, MARCH), 20),
    at: [MARCH, 0],
    line: 1,
  },
  "a flipped bit in the first line of the second file": {
    damage: (folder) => flipBit(join(folder, APRIL), 20),
    at: [APRIL, 0],
    line: 6,
  },
  "a flipped bit in the first line of the last file": {
    damage: (folder) => flipBit(join(folder, MAY), 20),
    at: [MAY, 0],
    line: 9,
  },
  "a flipped bit in the last line": {
    damage: (folder) => flipBit(join(folder, MAY), lineOffset(folder, MAY, 2) + 20),
    at: [MAY, 2],
    line: 11,
  },
  "a flipped bit in a line feed": {
    damage: (folder) => flipBit(join(folder, APRIL), lineOffset(folder, APRIL, 2) - 1),
    at: [APRIL, 1],
    line: 7,
  },
  "the last line feed of the second file missing": {
    damage: (folder) => editFile(join(folder, APRIL), (bytes) => bytes.subarray(0, -1)),
    at: [APRIL, 2],
    line: 8,
  },
  "half a line at the end of the second file": {
    damage: (folder) =>
      editFile(join(folder, APRIL), (bytes) => Buffer.concat([bytes, Buffer.from('{"seq":8')])),
    at: [APRIL, 3],
    line: 9,
  },
  "a line removed": {
    damage: (folder) => rearrange(folder, APRIL, [0, 2]),
    at: [APRIL, 1],
    line: 7,
  },
  "a line repeated": {
    damage: (folder) => rearrange(folder, APRIL, [0, 1, 1, 2]),
    at: [APRIL, 2],
    line: 8,
  },
  "two lines swapped": {
    damage: (folder) => rearrange(folder, APRIL, [0, 2, 1]),
    at: [APRIL, 1],
    line: 7,
  },
  "the last line removed": {
    damage: (folder) => rearrange(folder, MAY, [0, 1]),
    missingLines: [11, 11],
  },
  "the last line of the second file removed": {
    damage: (folder) => rearrange(folder, APRIL, [0, 1]),
    missingLines: [8, 8],
  },
  "the first line of a file removed": {
    damage: (folder) => rearrange(folder, APRIL, [1, 2]),
    missingLines: [6, 6],
  },
  "the first file missing": {
    damage: (folder) => rmSync(join(folder, MARCH)),
    missingLines: [1, 5],
  },
  "the second file missing": {
    damage: (folder) => rmSync(join(folder, APRIL)),
    missingLines: [6, 8],
  },
  "the last file missing": { damage: (folder) => rmSync(join(folder, MAY)), missingLines: [9, 11] },
  "all files missing": {
    damage: (folder) => rmSync(join(folder, "history"), { recursive: true }),
    missingLines: [1, 11],
  },
  "the last file empty": {
    damage: (folder) => truncateSync(join(folder, MAY)),
    missingLines: [9, 11],
  },
  "the second file empty": {
    damage: (folder) => truncateSync(join(folder, APRIL)),
    at: [APRIL, 0],
    line: 6,
  },
};

describe("verify refuses, without changing the folder, an audit log with", () => {
  for (const [condition, { damage, at, line, missingLines }] of Object.entries(cases)) {
    test(condition, async () => {
      const folder = await prepareKilledSite();
      const undamaged = copyFolder(folder);
      damage(folder);
      const before = contentsOf(folder);
      const refusal = await catchRefusal(verifyFolder(folder));
      if (missingLines !== undefined) {
        const [from, to] = missingLines;
        const auditFolder = join(folder, "history");
        expect(refusal).toEqual({
          name: "FolderRefused",
          message: `the audit log in ${auditFolder} lacks lines ${from} to ${to}`,
          hint: hintFor(folder, "history/FILE"),
        });
      } else {
        const [name = "", index = 0] = at ?? [];
        const offset = lineOffset(undamaged, name, index);
        expect(refusal).toEqual({
          name: "FolderRefused",
          message: `${join(folder, name)} is damaged at byte ${offset}, where line ${line} of the audit log is expected`,
          hint: hintFor(folder, name),
        });
      }
      expect(await catchRefusal(verifyFolder(folder))).toEqual(refusal);
      expect(contentsOf(folder)).toEqual(before);
      // A start does not need the audit log.
      await openAndCloseFolder(folder);
    });
  }

  test("a copy of a file under another month", async () => {
    const folder = await prepareKilledSite();
    copyFileSync(join(folder, APRIL), join(folder, "history/2026-06.jsonl"));
    const { message } = await catchRefusal(verifyFolder(folder));
    expect(message).toMatch(
      /2026-0[46]\.jsonl is damaged at byte 0, where line 9 of the audit log/,
    );
  });

  test("a replaced line with the right number and a wrong chain hash", async () => {
    const folder = await prepareKilledSite();
    const lines = readLines(join(folder, APRIL));
    const { line } = lines[1] ?? {};
    if (line === undefined) throw new Error("no line");
    const head = { seq: line.seq - 1, sum: line.prev, auditSeq: 6, auditSum: "0".repeat(64) };
    const forged = encodeLine(head, null, line.at, line.events).text;
    editFile(join(folder, APRIL), (bytes) => {
      const [from, to] = [lineOffset(folder, APRIL, 1), lineOffset(folder, APRIL, 2)];
      return Buffer.concat([bytes.subarray(0, from), Buffer.from(forged), bytes.subarray(to)]);
    });
    expect((await catchRefusal(verifyFolder(folder))).message).toContain(
      "where line 7 of the audit log",
    );
  });

  test("a replaced line with a wrong number", async () => {
    const folder = await prepareKilledSite();
    const { line, offset } = readLines(join(folder, MAY))[2] ?? {};
    if (line === undefined) throw new Error("no line");
    const head = { seq: line.seq - 1, sum: line.prev, auditSeq: 11, auditSum: line.prev };
    const forged = encodeLine(head, null, line.at, line.events).text;
    editFile(join(folder, MAY), (bytes) =>
      Buffer.concat([bytes.subarray(0, offset), Buffer.from(forged)]),
    );
    expect((await catchRefusal(verifyFolder(folder))).message).toContain(
      `byte ${offset}, where line 11 of the audit log is expected`,
    );
  });

  test("a last line whose checksum differs from the one in the state", async () => {
    const folder = await prepareKilledSite();
    const lines = readLines(join(folder, MAY));
    const { line, offset } = lines[2] ?? {};
    if (line === undefined) throw new Error("no line");
    const head = { seq: line.seq - 1, sum: line.prev, auditSeq: 10, auditSum: line.prev };
    // It has the same length as the original, so that only its checksum differs.
    const forged = encodeLine(
      head,
      null,
      line.at,
      JSON.parse(JSON.stringify(line.events).replace('"total":18', '"total":81')) as Event[],
    ).text;
    editFile(join(folder, MAY), (bytes) =>
      Buffer.concat([bytes.subarray(0, offset), Buffer.from(forged)]),
    );
    expect(await catchRefusal(verifyFolder(folder))).toEqual({
      name: "FolderRefused",
      message: `line 11, the last one of the audit log in ${join(folder, "history")}, is not the line that state.json names`,
      hint: hintFor(folder, MAY),
    });
  });
});

describe("verify of an audit log with a month before its anchor", () => {
  for (const [condition, damage] of Object.entries<(path: string) => void>({
    damaged: (path) => flipBit(path, 900),
    "damaged in its first line": (path) => flipBit(path, 20),
    empty: (path) => truncateSync(path),
    missing: (path) => rmSync(path),
    intact: () => {},
  })) {
    test(`succeeds when that month is ${condition}`, async () => {
      const folder = await prepareKilledSite(1);
      damage(join(folder, MARCH));
      const { auditLog } = await verifyFolder(folder);
      expect(auditLog).toMatchObject({ from: 6, files: 2, lines: 6 });
    });
  }

  test("refuses a line of that month in a later file", async () => {
    const folder = await prepareKilledSite(1);
    const [old] = readLines(join(folder, MARCH));
    editFile(join(folder, APRIL), (bytes) => Buffer.concat([bytes, old?.raw ?? Buffer.alloc(0)]));
    expect((await catchRefusal(verifyFolder(folder))).message).toContain(
      `${join(folder, APRIL)} is damaged at byte`,
    );
  });

  test("refuses a missing month after the anchor", async () => {
    const folder = await prepareKilledSite(1);
    rmSync(join(folder, APRIL));
    expect((await catchRefusal(verifyFolder(folder))).message).toContain("lacks lines 6 to 8");
    rmSync(join(folder, MARCH));
    expect((await catchRefusal(verifyFolder(folder))).message).toContain("lacks lines 6 to 8");
  });
});
