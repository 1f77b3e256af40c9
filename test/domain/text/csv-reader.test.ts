import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { csvRecord, csvRecords } from "../../../src/domain/text/csv.ts";
import { readCsv } from "../../../src/domain/text/csv-reader.ts";
import { unwrap } from "../../support/licensed-store.ts";

const readCells = (text: string): (readonly string[])[] =>
  unwrap(readCsv(text)).map(({ cells }) => cells);

describe("a CSV file", () => {
  test.each([
    ["commas", "a,b\n1,2\n"],
    ["semicolons", "a;b\n1;2\n"],
    ["a byte order mark", "\ufeffa,b\n1,2\n"],
    ["a byte order mark and semicolons", "\ufeffa;b\r\n1;2\r\n"],
    ["CRLF", "a,b\r\n1,2\r\n"],
    ["LF and CRLF mixed", "a,b\r\n1,2\n"],
    ["no line end after the last row", "a,b\n1,2"],
    ["quotes that are not needed", '"a","b"\r\n"1","2"\r\n'],
    ["a byte order mark before a quote", '\ufeff"a","b"\n1,2\n'],
  ])("with %s is read", (_, text) => {
    expect(readCells(text)).toEqual([
      ["a", "b"],
      ["1", "2"],
    ]);
  });

  test("has the separator that its first line has more of, and the other one is text", () => {
    expect(readCells("a,b\n1;2,3\n")).toEqual([
      ["a", "b"],
      ["1;2", "3"],
    ]);
    expect(readCells("a;b\n1,5;3\n")).toEqual([
      ["a", "b"],
      ["1,5", "3"],
    ]);
  });

  test("has separators, doubled quotes and line breaks in quoted cells", () => {
    const text = 'a,b\n"1,2","say ""yes"""\n"two\r\nlines",""\n';
    expect(readCells(text)).toEqual([
      ["a", "b"],
      ["1,2", 'say "yes"'],
      ["two\r\nlines", ""],
    ]);
  });

  test("keeps empty cells, also the last one of a row", () => {
    expect(readCells("a,,c\n,2,\n")).toEqual([
      ["a", "", "c"],
      ["", "2", ""],
    ]);
  });

  test("keeps spaces around a cell, and a quote within one", () => {
    expect(readCells(' a ,5" disk\n')).toEqual([[" a ", '5" disk']]);
  });

  test("skips empty lines and rows of empty cells, and counts them", () => {
    const text = '\na,b\n\n,\r\n  , \n1,"2\n\n3"\n4,5\n\n';
    expect(unwrap(readCsv(text))).toEqual([
      { line: 2, cells: ["a", "b"] },
      { line: 6, cells: ["1", "2\n\n3"] },
      { line: 9, cells: ["4", "5"] },
    ]);
  });

  test.each(["", "\ufeff", "\n", "\r\n\r\n", ",,\n", "  \n"])("is empty: %j", (text) => {
    expect(readCells(text)).toEqual([]);
  });

  test.each([
    ['a,b\n1,"2\n3,4\n', 2],
    ['a,b\n"1""', 2],
    ['"', 1],
    ['a,b\n\n"x\ny",1\n"', 5],
  ])("is refused with the line of a quote that is not closed: %j", (text, line) => {
    expect(readCsv(text)).toEqual({ ok: false, fault: { line, problem: "a quote is not closed" } });
  });

  test.each([
    ['a,b\n"1"2,3\n', 2],
    ['a;b\n"1" ;2\n', 2],
    ['a,b\n"1\n2"x,3\n', 3],
    ['a,b\n1,"2"\rx\n', 2],
  ])("is refused with the line of a text that follows a closing quote: %j", (text, line) => {
    const fault = { line, problem: "text follows a closing quote" };
    expect(readCsv(text)).toEqual({ ok: false, fault });
  });

  test.each([
    ["'=1+1", "=1+1"],
    ["' =1", " =1"],
    ["'－1", "－1"],
    [`"'\t=1"`, "\t=1"],
    [`"a;'=1"`, "a;=1"],
    [`"a\r\n'@b"`, "a\r\n@b"],
    ["'twas", "'twas"],
    ["it's=1", "it's=1"],
  ])("loses the quote that hides a formula, and no other: %j", (field, cell) => {
    expect(readCells(`x,${field}\n`)).toEqual([["x", cell]]);
  });
});

const CHARACTERS = ["a", "b", " ", ",", ";", '"', "'", "=", "+", "-", "@", "\t", "\r", "\n", "＝"];

/** Texts of the characters that matter to CSV, and of any others. */
const cells = fc.oneof(
  fc.string({ unit: fc.constantFrom(...CHARACTERS) }),
  fc.string({ unit: "binary" }),
);

/** A quote of the text itself before a formula cannot be told from one that hides the formula. */
const hasQuotedFormula = (cell: string): boolean => /'\s*[=+\-@\t\r＝＋－＠]/.test(cell);

test("what csvRecords writes is what readCsv reads, formulas included", () => {
  const rows = fc.array(
    fc
      .record({ name: cells, note: cells })
      .filter(
        ({ name, note }) =>
          `${name}${note}`.trim() !== "" && !hasQuotedFormula(name) && !hasQuotedFormula(note),
      ),
  );
  fc.assert(
    fc.property(rows, (written) => {
      const [header, ...read] = readCells(csvRecords(["name", "note"], written).join(""));
      expect(header).toEqual(["name", "note"]);
      expect(read).toEqual(written.map(({ name, note }) => [name, note]));
    }),
  );
});

test("a record with semicolons is read with its commas, because the header has them", () => {
  const text = [csvRecord(["name", "note"]), csvRecord(["a;b;c", "d"])].join("");
  expect(readCells(text)).toEqual([
    ["name", "note"],
    ["a;b;c", "d"],
  ]);
});
