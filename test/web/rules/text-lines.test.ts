import { describe, expect, test } from "bun:test";
import { countLines, numberLines, rangeOfLine } from "../../../src/web/rules/text-lines.ts";

const TEXT = "first\n\nthird\nlast";

describe("lines of a text", () => {
  test.each([
    [1, "first"],
    [2, ""],
    [3, "third"],
    [4, "last"],
    [5, "last"],
    [0, "first"],
  ])("line %d is found as %p", (line, expected) => {
    expect(TEXT.slice(...rangeOfLine(TEXT, line))).toBe(expected);
  });

  test("an empty text has one line, and a line break begins another", () => {
    expect(["", "a", "a\n", TEXT].map(countLines)).toEqual([1, 1, 2, 4]);
  });
});

describe("line numbers", () => {
  test("without marks are one part", () => {
    expect(numberLines(3, new Map())).toEqual([{ numbers: "1\n2\n3\n", mark: null }]);
  });

  test("have a part of their own for each marked line, in the order of the lines", () => {
    const marks = new Map([
      [4, "warning"],
      [2, "error"],
    ]);
    expect(numberLines(5, marks)).toEqual([
      { numbers: "1\n", mark: null },
      { numbers: "2\n", mark: "error" },
      { numbers: "3\n", mark: null },
      { numbers: "4\n", mark: "warning" },
      { numbers: "5\n", mark: null },
    ]);
  });

  test("ignore marks outside of the text", () => {
    const marks = new Map([
      [0, "error"],
      [9, "error"],
    ]);
    expect(numberLines(1, marks)).toEqual([{ numbers: "1\n", mark: null }]);
  });

  test("of any marks name every line once", () => {
    for (const marked of [[1], [5], [1, 2], [1, 5], [4, 5], [1, 2, 3, 4, 5]]) {
      const parts = numberLines(5, new Map(marked.map((line) => [line, "error"])));
      expect(parts.map(({ numbers }) => numbers).join("")).toBe("1\n2\n3\n4\n5\n");
    }
  });
});
