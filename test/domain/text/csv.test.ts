import { describe, expect, test } from "bun:test";
import { csvRecord } from "../../../src/domain/text/csv.ts";

describe("a CSV record", () => {
  test.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@sum", "'@sum"],
    ["＝1+1", "'＝1+1"],
    ["＋1", "'＋1"],
    ["－1", "'－1"],
    ["＠sum", "'＠sum"],
    [" =1", "' =1"],
    ["\u00a0=1", "'\u00a0=1"],
    ["\u3000\u2009 ＝1", "'\u3000\u2009 ＝1"],
    ["\t=1", `"'\t=1"`],
    ["a\r\n=1", `"a\r\n'=1"`],
    ["a;\u00a0=1", `"a;'\u00a0=1"`],
  ])("makes text of the formula %j", (cell, field) => {
    expect(csvRecord([cell])).toBe(`${field}\r\n`);
  });

  test.each(["a=1", "1-2", "a @ b", " a", "\u00a0", "a－b", ""])("does not change %j", (cell) => {
    expect(csvRecord([cell, cell])).toBe(`${cell},${cell}\r\n`);
  });

  test("quotes separators, and doubles quotes", () => {
    expect(csvRecord(["a,b", 'c"d', "e;f"])).toBe('"a,b","c""d","e;f"\r\n');
  });
});
