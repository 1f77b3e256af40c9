import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Instant } from "../../../src/domain/time.ts";
import { AuditLogWriter } from "../../../src/store/audit/audit-log-writer.ts";
import { encodeLine, genesisHead, type ChainHead } from "../../../src/store/journal/journal.ts";
import { emptyAuditLogEnd, type AuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import { slotTaken, utc } from "../../support/scenario.ts";
import { modeOf, tempFolder } from "../../support/temp-folder.ts";

const MARCH = utc("2026-03-31T23:59:59.999Z");
const APRIL = utc("2026-04-01T00:00:00.000Z");
const EMPTY = emptyAuditLogEnd;

interface AuditedLine {
  readonly at: Instant;
  readonly seq: number;
  readonly text: string;
}

/** A chain of audited lines, one at each of these instants. */
function chainLines(...instants: readonly Instant[]): AuditedLine[] {
  let head: ChainHead = genesisHead;
  return instants.map((at) => {
    const { text, head: after } = encodeLine(head, null, at, [slotTaken("ada", { at })]);
    head = after;
    return { at, seq: after.auditSeq, text };
  });
}

/** Writes the lines of one checkpoint; returns the new end of the audit log if it is finished. */
async function writeCheckpoint(
  folder: string,
  end: AuditLogEnd,
  writtenSeq: number,
  lines: readonly AuditedLine[],
  shouldClose = true,
): Promise<AuditLogEnd> {
  const writer = new AuditLogWriter(new FaultyDisk(), folder, end, writtenSeq);
  for (const { at, seq, text } of lines) await writer.append(at, seq, Buffer.from(text));
  return shouldClose ? writer.close() : end;
}

const filesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(folder, "history"))
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, "history", name), "utf8")]),
  );

const textOf = (lines: readonly AuditedLine[]): string => lines.map(({ text }) => text).join("");

describe("audit log writer", () => {
  test("writes one file for each month, by the UTC time of the line", async () => {
    const folder = tempFolder();
    const lines = chainLines(MARCH, MARCH, APRIL);
    const end = await writeCheckpoint(folder, EMPTY, 0, lines);
    expect(filesIn(folder)).toEqual({
      "2026-03.jsonl": textOf(lines.slice(0, 2)),
      "2026-04.jsonl": textOf(lines.slice(2)),
    });
    expect(end).toEqual({
      ...EMPTY,
      file: "2026-04.jsonl",
      length: textOf(lines.slice(2)).length,
    });
    expect(modeOf(join(folder, "history", "2026-03.jsonl"))).toBe("600");
  });

  test("continues in the file in which the audit log ended", async () => {
    const folder = tempFolder();
    const lines = chainLines(MARCH, MARCH, APRIL, APRIL);
    const first = await writeCheckpoint(folder, EMPTY, 0, lines.slice(0, 1));
    const second = await writeCheckpoint(folder, first, 1, lines.slice(1, 3));
    const third = await writeCheckpoint(folder, second, 3, lines.slice(3));
    expect(filesIn(folder)).toEqual({
      "2026-03.jsonl": textOf(lines.slice(0, 2)),
      "2026-04.jsonl": textOf(lines.slice(2)),
    });
    expect(third.length).toBe(statSync(join(folder, "history", "2026-04.jsonl")).size);
  });

  test("changes nothing when there are no lines to add", async () => {
    const folder = tempFolder();
    const end = await writeCheckpoint(folder, EMPTY, 0, chainLines(MARCH));
    const before = filesIn(folder);
    expect(await writeCheckpoint(folder, end, 1, [])).toMatchObject({ ...end });
    expect(filesIn(folder)).toEqual(before);
  });

  test("syncs files and their folder before close resolves", async () => {
    const disk = new FaultyDisk();
    const writer = new AuditLogWriter(disk, tempFolder(), EMPTY, 0);
    for (const { at, seq, text } of chainLines(MARCH, APRIL)) {
      await writer.append(at, seq, Buffer.from(text));
    }
    const folders = disk.block("syncFolder");
    const closing = writer.close();
    expect(await isPending(closing)).toBe(true);
    expect(disk.listCalls("write", "sync", "syncFolder")).toEqual([
      "write 2026-03.jsonl",
      "sync 2026-03.jsonl",
      "write 2026-04.jsonl",
      "sync 2026-04.jsonl",
      "syncFolder history",
    ]);
    folders.releaseAll();
    await closing;
  });

  test("refuses a file that is shorter than the recorded end of the audit log", async () => {
    const folder = tempFolder();
    const lines = chainLines(MARCH, MARCH);
    const end = await writeCheckpoint(folder, EMPTY, 0, lines.slice(0, 1));
    writeFileSync(join(folder, "history", "2026-03.jsonl"), "");
    expect(writeCheckpoint(folder, end, 1, lines.slice(1))).rejects.toThrow("should have");
  });
});

describe("audit log writer cuts what an unfinished checkpoint left", () => {
  test("in the file in which the audit log ended", async () => {
    const folder = tempFolder();
    const lines = chainLines(MARCH, MARCH, MARCH);
    const end = await writeCheckpoint(folder, EMPTY, 0, lines.slice(0, 1));
    await writeCheckpoint(folder, end, 1, lines.slice(1), false);
    appendFileSync(join(folder, "history", "2026-03.jsonl"), '{"seq":4,"fr');
    await writeCheckpoint(folder, end, 1, lines.slice(1));
    expect(filesIn(folder)).toEqual({ "2026-03.jsonl": textOf(lines) });
  });

  for (const [name, leftover] of [
    ["complete lines", (text: string) => text],
    ["half a line", (text: string) => text.slice(0, 30)],
    ["no bytes", () => ""],
  ] as const) {
    test(`in the file of a new month that contains ${name}`, async () => {
      const folder = tempFolder();
      const lines = chainLines(MARCH, MARCH, APRIL, APRIL);
      const end = await writeCheckpoint(folder, EMPTY, 0, lines.slice(0, 1));
      await writeCheckpoint(folder, end, 1, lines.slice(1), false);
      writeFileSync(join(folder, "history", "2026-04.jsonl"), leftover(textOf(lines.slice(2))));
      await writeCheckpoint(folder, end, 1, lines.slice(1));
      expect(filesIn(folder)).toEqual({
        "2026-03.jsonl": textOf(lines.slice(0, 2)),
        "2026-04.jsonl": textOf(lines.slice(2)),
      });
    });
  }
});

describe("audit log writer, when the clock is set back to an earlier month,", () => {
  test("writes another file, named by the month and its first line", async () => {
    const folder = tempFolder();
    const lines = chainLines(MARCH, APRIL, MARCH, MARCH);
    const end = await writeCheckpoint(folder, EMPTY, 0, lines.slice(0, 2));
    const after = await writeCheckpoint(folder, end, 2, lines.slice(2, 3));
    expect(after.file).toBe("2026-03-3.jsonl");
    await writeCheckpoint(folder, after, 3, lines.slice(3));
    expect(filesIn(folder)).toEqual({
      "2026-03.jsonl": textOf(lines.slice(0, 1)),
      "2026-03-3.jsonl": textOf(lines.slice(2)),
      "2026-04.jsonl": textOf(lines.slice(1, 2)),
    });
  });

  test("writes no line twice after an unfinished checkpoint", async () => {
    const folder = tempFolder();
    const lines = chainLines(MARCH, APRIL, MARCH);
    const end = await writeCheckpoint(folder, EMPTY, 0, lines.slice(0, 2));
    await writeCheckpoint(folder, end, 2, lines.slice(2), false);
    const { length } = await writeCheckpoint(folder, end, 2, lines.slice(2));
    expect(filesIn(folder)["2026-03-3.jsonl"]).toBe(textOf(lines.slice(2)));
    expect(length).toBe(textOf(lines.slice(2)).length);
  });

  test("loses no line when this happens within one checkpoint", async () => {
    const folder = tempFolder();
    const lines = chainLines(MARCH, APRIL, MARCH);
    await writeCheckpoint(folder, EMPTY, 0, lines);
    const files = filesIn(folder);
    expect(Object.values(files).join("").length).toBe(textOf(lines).length);
    for (const { text } of lines) expect(Object.values(files).join("")).toContain(text);
  });
});
