// What `verify` says about a record that is not what was written.
import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../../src/domain/event.ts";
import { encodeLine } from "../../../src/store/journal.ts";
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

/** Three lines a month, in three months; five in the first, with what made the folder. */
async function killed(keep = 0): Promise<string> {
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

/** Where the line at this place of a file begins; behind the last one, where the file ends. */
function startOf(folder: string, name: string, place: number): number {
  const lines = readLines(join(folder, name));
  expect(place).toBeLessThanOrEqual(lines.length);
  return lines[place]?.offset ?? statSync(join(folder, name)).size;
}

/** The same lines in another order, some of them twice or not at all. */
function rearrange(folder: string, name: string, order: readonly number[]): void {
  const lines = readLines(join(folder, name)).map(({ raw }) => Buffer.from(raw));
  writeFileSync(
    join(folder, name),
    Buffer.concat(order.map((place) => lines[place] ?? Buffer.alloc(0))),
  );
}

/** What loses nothing comes first; never a restore of everything for the sake of one file. */
const hintFor = (folder: string, name: string): string =>
  `licenses are not affected; to restore the file from a backup without loss, run as the folder's owner: tar xf BACKUP -C '${folder}' ${name}; without a backup, run berth audit repair`;

interface Case {
  readonly damage: (folder: string) => void;
  /** The file and the place among its lines, as it was before. */
  readonly at?: readonly [name: string, place: number];
  /** The line of the record that should stand there. */
  readonly line?: number;
  readonly lacks?: readonly [from: number, to: number];
}

const cases: Readonly<Record<string, Case>> = {
  "a bit flipped in the middle of a file": {
    damage: (folder) => flipBit(join(folder, APRIL), startOf(folder, APRIL, 1) + 20),
    at: [APRIL, 1],
    line: 7,
  },
  "a bit flipped in the first line of the first file": {
    damage: (folder) => flipBit(join(folder, MARCH), 20),
    at: [MARCH, 0],
    line: 1,
  },
  "a bit flipped in the first line of a file in between": {
    damage: (folder) => flipBit(join(folder, APRIL), 20),
    at: [APRIL, 0],
    line: 6,
  },
  "a bit flipped in the first line of the last file": {
    damage: (folder) => flipBit(join(folder, MAY), 20),
    at: [MAY, 0],
    line: 9,
  },
  "a bit flipped in the last line": {
    damage: (folder) => flipBit(join(folder, MAY), startOf(folder, MAY, 2) + 20),
    at: [MAY, 2],
    line: 11,
  },
  "a bit flipped in a line feed": {
    damage: (folder) => flipBit(join(folder, APRIL), startOf(folder, APRIL, 2) - 1),
    at: [APRIL, 1],
    line: 7,
  },
  "the last line feed of a file in between gone": {
    damage: (folder) => editFile(join(folder, APRIL), (bytes) => bytes.subarray(0, -1)),
    at: [APRIL, 2],
    line: 8,
  },
  "half a line at the end of a file in between": {
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
  "a line twice": {
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
    lacks: [11, 11],
  },
  "the last line of a file in between removed": {
    damage: (folder) => rearrange(folder, APRIL, [0, 1]),
    lacks: [8, 8],
  },
  "the first line of a file removed": {
    damage: (folder) => rearrange(folder, APRIL, [1, 2]),
    lacks: [6, 6],
  },
  "the first file missing": { damage: (folder) => rmSync(join(folder, MARCH)), lacks: [1, 5] },
  "a file in between missing": { damage: (folder) => rmSync(join(folder, APRIL)), lacks: [6, 8] },
  "the last file missing": { damage: (folder) => rmSync(join(folder, MAY)), lacks: [9, 11] },
  "all files missing": {
    damage: (folder) => rmSync(join(folder, "history"), { recursive: true }),
    lacks: [1, 11],
  },
  "the last file empty": { damage: (folder) => truncateSync(join(folder, MAY)), lacks: [9, 11] },
  "a file in between empty": {
    damage: (folder) => truncateSync(join(folder, APRIL)),
    at: [APRIL, 0],
    line: 6,
  },
};

describe("a record that is not what was written is refused, and nothing is touched", () => {
  for (const [what, { damage, at, line, lacks }] of Object.entries(cases)) {
    test(what, async () => {
      const folder = await killed();
      const whole = copyFolder(folder);
      damage(folder);
      const before = contentsOf(folder);
      const said = await catchRefusal(verifyFolder(folder));
      if (lacks !== undefined) {
        const [from, to] = lacks;
        const where = join(folder, "history");
        expect(said).toEqual({
          name: "FolderRefused",
          message: `the audit log in ${where} lacks lines ${from} to ${to}`,
          hint: hintFor(folder, "history/FILE"),
        });
      } else {
        const [name = "", place = 0] = at ?? [];
        const offset = startOf(whole, name, place);
        expect(said).toEqual({
          name: "FolderRefused",
          message: `${join(folder, name)} is damaged at byte ${offset}, where line ${line} of the audit log is expected`,
          hint: hintFor(folder, name),
        });
      }
      expect(await catchRefusal(verifyFolder(folder))).toEqual(said);
      expect(contentsOf(folder)).toEqual(before);
      // The licenses do not hang on it.
      await openAndCloseFolder(folder);
    });
  }

  test("a file twice, under another name", async () => {
    const folder = await killed();
    copyFileSync(join(folder, APRIL), join(folder, "history/2026-06.jsonl"));
    const { message } = await catchRefusal(verifyFolder(folder));
    expect(message).toMatch(
      /2026-0[46]\.jsonl is damaged at byte 0, where line 9 of the audit log/,
    );
  });

  test("another line of the same number, that does not chain", async () => {
    const folder = await killed();
    const lines = readLines(join(folder, APRIL));
    const { line } = lines[1] ?? {};
    if (line === undefined) throw new Error("no line");
    const head = { seq: line.seq - 1, sum: line.prev, auditSeq: 6, auditSum: "0".repeat(64) };
    const forged = encodeLine(head, null, line.at, line.events).text;
    editFile(join(folder, APRIL), (bytes) => {
      const [from, to] = [startOf(folder, APRIL, 1), startOf(folder, APRIL, 2)];
      return Buffer.concat([bytes.subarray(0, from), Buffer.from(forged), bytes.subarray(to)]);
    });
    expect((await catchRefusal(verifyFolder(folder))).message).toContain(
      "where line 7 of the audit log",
    );
  });

  test("a line that chains under another number", async () => {
    const folder = await killed();
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

  test("an end that is not the one the state knows", async () => {
    const folder = await killed();
    const lines = readLines(join(folder, MAY));
    const { line, offset } = lines[2] ?? {};
    if (line === undefined) throw new Error("no line");
    const head = { seq: line.seq - 1, sum: line.prev, auditSeq: 10, auditSum: line.prev };
    // As long as the one it stands for, so that only its sum tells.
    const forged = encodeLine(
      head,
      null,
      line.at,
      JSON.parse(JSON.stringify(line.events).replace('"total":18', '"total":81')) as Event[],
    ).text;
    editFile(join(folder, MAY), (bytes) =>
      Buffer.concat([bytes.subarray(0, offset), Buffer.from(forged)]),
    );
    expect((await catchRefusal(verifyFolder(folder))).message).toContain("lacks lines 12 to 11");
  });
});

describe("what was let go of does not matter any more", () => {
  for (const [what, damage] of Object.entries<(path: string) => void>({
    damaged: (path) => flipBit(path, 900),
    "damaged in its first line": (path) => flipBit(path, 20),
    empty: (path) => truncateSync(path),
    gone: (path) => rmSync(path),
    whole: () => {},
  })) {
    test(`when it is ${what}`, async () => {
      const folder = await killed(1);
      damage(join(folder, MARCH));
      const { auditLog } = await verifyFolder(folder);
      expect(auditLog).toMatchObject({ from: 6, files: 2, lines: 6 });
    });
  }

  test("but no line of it may come back later", async () => {
    const folder = await killed(1);
    const [old] = readLines(join(folder, MARCH));
    editFile(join(folder, APRIL), (bytes) => Buffer.concat([bytes, old?.raw ?? Buffer.alloc(0)]));
    expect((await catchRefusal(verifyFolder(folder))).message).toContain(
      `${join(folder, APRIL)} is damaged at byte`,
    );
  });

  test("and what should follow it must", async () => {
    const folder = await killed(1);
    rmSync(join(folder, APRIL));
    expect((await catchRefusal(verifyFolder(folder))).message).toContain("lacks lines 6 to 8");
    rmSync(join(folder, MARCH));
    expect((await catchRefusal(verifyFolder(folder))).message).toContain("lacks lines 6 to 8");
  });
});
