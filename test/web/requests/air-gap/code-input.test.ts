import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalizeCode, CODE_BITS, encodeCode } from "../../../../src/license/codes/code.ts";
import { spellSymbols } from "../../../../src/web/requests/air-gap/spelling.ts";
import {
  emptyRows,
  pasteCode,
  typeIntoRow,
} from "../../../../src/web/requests/air-gap/code-input.ts";

const BITS = CODE_BITS.confirmation;
const EMPTY = emptyRows(BITS);

const anyCode = fc
  .uint8Array({ minLength: 68, maxLength: 68 })
  .map((bytes) => encodeCode(bytes, BITS).split("\n"));

const [CODE = []] = fc.sample(anyCode, { numRuns: 1, seed: 7 });
const [FIRST = "", SECOND = ""] = CODE;

/** Types like a keyboard: each symbol at the end of the row that has the focus. */
function typeAll(keys: string, rows = EMPTY, row = 0) {
  let input = { rows, at: row };
  for (const key of keys) {
    if (key === "\n") continue;
    const line = `${input.rows[input.at] ?? ""}${key}`;
    input = typeIntoRow(input.rows, input.at, line, BITS, true);
  }
  return input;
}

test("emptyRows returns one empty row for each row of the code", () => {
  expect(EMPTY).toEqual(["", "", "", "", "", ""]);
  expect(emptyRows(CODE_BITS.initialization)).toEqual([""]);
});

describe("typing at the end of a row", () => {
  test("puts every symbol into its row, with any separators and case", () => {
    fc.assert(
      fc.property(
        anyCode,
        fc.constantFrom("", "-", "\n", " "),
        fc.boolean(),
        (rows, gap, lower) => {
          const symbols = rows.map((row) => canonicalizeCode(row));
          const keys = symbols.join(gap).replaceAll("0", "o").replaceAll("1", "l");
          const typed = typeAll(lower ? keys.toLowerCase() : keys);
          expect(typed).toEqual({ rows, at: 5 });
        },
      ),
    );
  });

  test("groups symbols while typing, and a trailing dash can be deleted", () => {
    expect(typeIntoRow(EMPTY, 0, "abcde", BITS, true).rows[0]).toBe("ABCDE");
    expect(typeIntoRow(EMPTY, 0, "ABCDEf", BITS, true).rows[0]).toBe("ABCDE-F");
    expect(typeIntoRow(EMPTY, 0, "ABCDE-", BITS, true).rows[0]).toBe("ABCDE");
  });

  test("keeps the focus in a wrong row, and further symbols go to the next row", () => {
    const wrong = `${FIRST.slice(0, -1)}${FIRST.endsWith("7") ? "8" : "7"}`;
    const full = typeAll(wrong);
    expect(full).toEqual({ rows: EMPTY.with(0, wrong), at: 0 });
    expect(typeAll(SECOND, full.rows, 0)).toEqual({
      rows: EMPTY.with(0, wrong).with(1, SECOND),
      at: 2,
    });
  });

  test("does not move an extra symbol into a row that is filled", () => {
    const { rows, at } = typeIntoRow(CODE, 0, `${FIRST}7`, BITS, true);
    expect(rows).toEqual(CODE.with(0, `${FIRST}-7`));
    expect(at).toBe(0);
  });

  test("moves the focus from a corrected row only to a row that is not correct", () => {
    expect(typeIntoRow(CODE, 0, FIRST, BITS, true).at).toBe(0);
    expect(typeIntoRow(CODE.with(1, ""), 0, FIRST, BITS, true).at).toBe(1);
  });

  test("keeps extra symbols in the last row", () => {
    const last = CODE.at(-1) ?? "";
    expect(typeIntoRow(CODE, 5, `${last}77`, BITS, true)).toEqual({
      rows: CODE.with(5, `${last}-77`),
      at: 5,
    });
  });
});

test("typing inside a row keeps the text as typed and the focus in place", () => {
  expect(typeIntoRow(CODE, 1, "ab-cdefg ", BITS, false)).toEqual({
    rows: CODE.with(1, "ab-cdefg "),
    at: 1,
  });
});

describe("pasteCode", () => {
  test("replaces all rows with a complete code, pasted into any row", () => {
    for (const row of [0, 3, 5]) {
      const pasted = pasteCode(EMPTY.with(0, "OLD"), row, CODE.join("\r\n"), BITS);
      expect(pasted).toEqual({ rows: CODE, at: 5 });
    }
  });

  test("fills several rows from the current row on and keeps the rows before", () => {
    const pasted = pasteCode(CODE.with(4, "WRONG"), 1, CODE.slice(1, 3).join(" "), BITS);
    expect(pasted).toEqual({ rows: [...CODE.slice(0, 3), "", "", ""], at: 3 });
  });

  test("leaves a text that fits into one row to the browser", () => {
    expect(pasteCode(CODE, 1, SECOND, BITS)).toBeNull();
    expect(pasteCode(EMPTY, 0, "7", BITS)).toBeNull();
  });
});

test("spellSymbols has a different word for every symbol", () => {
  const symbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  expect(new Set(spellSymbols(symbols)).size).toBe(32);
  expect(spellSymbols("n0-x")).toEqual(["November", "zero", "X-ray"]);
});
