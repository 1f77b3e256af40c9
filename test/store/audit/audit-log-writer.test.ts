import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Instant } from "../../../src/domain/time.ts";
import { AuditLogWriter } from "../../../src/store/audit/audit-log-writer.ts";
import { encodeLine, genesisHead, type ChainHead } from "../../../src/store/journal.ts";
import { emptyAuditLogEnd, type AuditLogEnd } from "../../../src/store/snapshot.ts";
import { FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import { slotTaken, utc } from "../../support/scenario.ts";
import { modeOf, tempFolder } from "../../support/temp-folder.ts";

const MARCH = utc("2026-03-31T23:59:59.999Z");
const APRIL = utc("2026-04-01T00:00:00.000Z");
const NOTHING = emptyAuditLogEnd;

interface Audited {
  readonly at: Instant;
  readonly seq: number;
  readonly text: string;
}

/** A chain of audited lines, one at each of these instants. */
function chain(...instants: readonly Instant[]): Audited[] {
  let head: ChainHead = genesisHead;
  return instants.map((at) => {
    const { text, head: after } = encodeLine(head, null, at, [slotTaken("ada", { at })]);
    head = after;
    return { at, seq: after.auditSeq, text };
  });
}

/** One checkpoint's worth: what it says the record ends with, if it gets that far. */
async function fold(
  folder: string,
  end: AuditLogEnd,
  recorded: number,
  lines: readonly Audited[],
  finish = true,
): Promise<AuditLogEnd> {
  const history = new AuditLogWriter(new FaultyDisk(), folder, end, recorded);
  for (const { at, seq, text } of lines) await history.append(at, seq, Buffer.from(text));
  return finish ? history.close() : end;
}

const filesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(folder, "history"))
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, "history", name), "utf8")]),
  );

const textOf = (lines: readonly Audited[]): string => lines.map(({ text }) => text).join("");

describe("the record", () => {
  test("has a file for each month, by the time of the line, in UTC", async () => {
    const folder = tempFolder();
    const lines = chain(MARCH, MARCH, APRIL);
    const end = await fold(folder, NOTHING, 0, lines);
    expect(filesIn(folder)).toEqual({
      "2026-03.jsonl": textOf(lines.slice(0, 2)),
      "2026-04.jsonl": textOf(lines.slice(2)),
    });
    expect(end).toEqual({
      ...NOTHING,
      file: "2026-04.jsonl",
      length: textOf(lines.slice(2)).length,
    });
    expect(modeOf(join(folder, "history", "2026-03.jsonl"))).toBe("600");
  });

  test("goes on in the file it ended with", async () => {
    const folder = tempFolder();
    const lines = chain(MARCH, MARCH, APRIL, APRIL);
    const first = await fold(folder, NOTHING, 0, lines.slice(0, 1));
    const second = await fold(folder, first, 1, lines.slice(1, 3));
    const third = await fold(folder, second, 3, lines.slice(3));
    expect(filesIn(folder)).toEqual({
      "2026-03.jsonl": textOf(lines.slice(0, 2)),
      "2026-04.jsonl": textOf(lines.slice(2)),
    });
    expect(third.length).toBe(statSync(join(folder, "history", "2026-04.jsonl")).size);
  });

  test("stays as it is when there is nothing to add", async () => {
    const folder = tempFolder();
    const end = await fold(folder, NOTHING, 0, chain(MARCH));
    const before = filesIn(folder);
    expect(await fold(folder, end, 1, [])).toMatchObject({ ...end });
    expect(filesIn(folder)).toEqual(before);
  });

  test("is on disk, names too, before it is said to be", async () => {
    const disk = new FaultyDisk();
    const history = new AuditLogWriter(disk, tempFolder(), NOTHING, 0);
    for (const { at, seq, text } of chain(MARCH, APRIL)) {
      await history.append(at, seq, Buffer.from(text));
    }
    const folders = disk.block("syncFolder");
    const closing = history.close();
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

  test("is refused when it is shorter than it should be", async () => {
    const folder = tempFolder();
    const lines = chain(MARCH, MARCH);
    const end = await fold(folder, NOTHING, 0, lines.slice(0, 1));
    writeFileSync(join(folder, "history", "2026-03.jsonl"), "");
    expect(fold(folder, end, 1, lines.slice(1))).rejects.toThrow("should have");
  });
});

describe("what lies beyond the end of the record is an unfinished fold, and is cut", () => {
  test("in the file it ended with", async () => {
    const folder = tempFolder();
    const lines = chain(MARCH, MARCH, MARCH);
    const end = await fold(folder, NOTHING, 0, lines.slice(0, 1));
    await fold(folder, end, 1, lines.slice(1), false);
    appendFileSync(join(folder, "history", "2026-03.jsonl"), '{"seq":4,"fr');
    await fold(folder, end, 1, lines.slice(1));
    expect(filesIn(folder)).toEqual({ "2026-03.jsonl": textOf(lines) });
  });

  for (const [name, leftover] of [
    ["whole lines", (text: string) => text],
    ["half a line", (text: string) => text.slice(0, 30)],
    ["nothing", () => ""],
  ] as const) {
    test(`in a month that had just begun, with ${name}`, async () => {
      const folder = tempFolder();
      const lines = chain(MARCH, MARCH, APRIL, APRIL);
      const end = await fold(folder, NOTHING, 0, lines.slice(0, 1));
      await fold(folder, end, 1, lines.slice(1), false);
      writeFileSync(join(folder, "history", "2026-04.jsonl"), leftover(textOf(lines.slice(2))));
      await fold(folder, end, 1, lines.slice(1));
      expect(filesIn(folder)).toEqual({
        "2026-03.jsonl": textOf(lines.slice(0, 2)),
        "2026-04.jsonl": textOf(lines.slice(2)),
      });
    });
  }
});

describe("a clock set back into a month that has its file already", () => {
  test("gets a file of its own, told apart by the line it begins with", async () => {
    const folder = tempFolder();
    const lines = chain(MARCH, APRIL, MARCH, MARCH);
    const end = await fold(folder, NOTHING, 0, lines.slice(0, 2));
    const after = await fold(folder, end, 2, lines.slice(2, 3));
    expect(after.file).toBe("2026-03-3.jsonl");
    await fold(folder, after, 3, lines.slice(3));
    expect(filesIn(folder)).toEqual({
      "2026-03.jsonl": textOf(lines.slice(0, 1)),
      "2026-03-3.jsonl": textOf(lines.slice(2)),
      "2026-04.jsonl": textOf(lines.slice(1, 2)),
    });
  });

  test("has no line twice after an unfinished fold", async () => {
    const folder = tempFolder();
    const lines = chain(MARCH, APRIL, MARCH);
    const end = await fold(folder, NOTHING, 0, lines.slice(0, 2));
    await fold(folder, end, 2, lines.slice(2), false);
    const { length } = await fold(folder, end, 2, lines.slice(2));
    expect(filesIn(folder)["2026-03-3.jsonl"]).toBe(textOf(lines.slice(2)));
    expect(length).toBe(textOf(lines.slice(2)).length);
  });

  test("loses no line when it happens within one fold", async () => {
    const folder = tempFolder();
    const lines = chain(MARCH, APRIL, MARCH);
    await fold(folder, NOTHING, 0, lines);
    const files = filesIn(folder);
    expect(Object.values(files).join("").length).toBe(textOf(lines).length);
    for (const { text } of lines) expect(Object.values(files).join("")).toContain(text);
  });
});
