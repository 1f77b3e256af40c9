import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LineReader } from "../../../src/desk/ledger/line-reader.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const MIB = 1024 * 1024;

/** The lines, each with its offsets checked, and the bytes after the last one. */
function read(text: string, from = 0) {
  const path = join(tempFolder(), "lines");
  writeFileSync(path, text);
  const reader = new LineReader(realDisk, path, from);
  let before = from;
  const lines = [...reader].map((line) => {
    expect([line.from, line.end]).toEqual([before, before + line.bytes.length + 1]);
    before = line.end;
    return line.bytes.toString();
  });
  return { lines, rest: reader.rest };
}

test.each([
  ["an empty file", "", [], 0],
  ["one incomplete line", "abc", [], 3],
  ["empty lines", "\n\na\n", ["", "", "a"], 0],
  ["an incomplete last line", "a\nbc", ["a"], 2],
])("LineReader reads %s", (_what, text, lines, rest) => {
  expect(read(text)).toEqual({ lines, rest });
});

test("LineReader reads a file of several parts, with lines across their ends", () => {
  const lines = Array.from({ length: 1_500 }, (_, n) => `${n} ${"x".repeat((n * 37) % 20_011)}`);
  expect(lines.join("\n").length).toBeGreaterThan(9 * MIB);
  const text = `${lines.join("\n")}\nrest`;
  const result = read(text);
  expect([Bun.deepEquals(result.lines, lines), result.rest]).toEqual([true, 4]);
  const from = (lines[0] ?? "").length + 1;
  expect(Bun.deepEquals(read(text, from).lines, lines.slice(1))).toBe(true);
});

test.each([4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 9 * MIB])(
  "LineReader reads a line of %d bytes between others",
  (length) => {
    const lines = ["first", "x".repeat(length), "last"];
    const result = read(`${lines.join("\n")}\n`);
    expect([Bun.deepEquals(result.lines, lines), result.rest]).toEqual([true, 0]);
  },
);

test("LineReader reads no line of a file that does not exist", () => {
  expect([...new LineReader(realDisk, join(tempFolder(), "none"))]).toEqual([]);
});
