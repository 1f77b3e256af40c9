import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalizeCode, CODE_BITS, encodeCode } from "../../src/license/code.ts";
import { spellSymbols } from "../../src/web/licenses/air-gap/spelling.ts";
import { emptyRows, pasteCode, typeIntoRow } from "../../src/web/licenses/air-gap/code-input.ts";

const BITS = CODE_BITS.confirmation;
const EMPTY = emptyRows(BITS);

const anyCode = fc
  .uint8Array({ minLength: 68, maxLength: 68 })
  .map((bytes) => encodeCode(bytes, BITS).split("\n"));

const [CODE = []] = fc.sample(anyCode, { numRuns: 1, seed: 7 });
const [FIRST = "", SECOND = ""] = CODE;

/** What a keyboard does: a symbol behind what is there, in the row that has the caret. */
function typeAll(keys: string, rows = EMPTY, row = 0) {
  let typed = { rows, at: row };
  for (const key of keys) {
    if (key === "\n") continue;
    const line = `${typed.rows[typed.at] ?? ""}${key}`;
    typed = typeIntoRow(typed.rows, typed.at, line, BITS, true);
  }
  return typed;
}

test("a code has as many empty rows as are to come", () => {
  expect(EMPTY).toEqual(["", "", "", "", "", ""]);
  expect(emptyRows(CODE_BITS.initialization)).toEqual([""]);
});

describe("typed behind what is there", () => {
  test("every symbol finds its row, however the code is written", () => {
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

  test("groups show while it is typed, and a dash is never in the way of taking back", () => {
    expect(typeIntoRow(EMPTY, 0, "abcde", BITS, true).rows[0]).toBe("ABCDE");
    expect(typeIntoRow(EMPTY, 0, "ABCDEf", BITS, true).rows[0]).toBe("ABCDE-F");
    expect(typeIntoRow(EMPTY, 0, "ABCDE-", BITS, true).rows[0]).toBe("ABCDE");
  });

  test("a wrong row keeps the caret, and what comes after it goes on all the same", () => {
    const wrong = `${FIRST.slice(0, -1)}${FIRST.endsWith("7") ? "8" : "7"}`;
    const full = typeAll(wrong);
    expect(full).toEqual({ rows: EMPTY.with(0, wrong), at: 0 });
    expect(typeAll(SECOND, full.rows, 0)).toEqual({
      rows: EMPTY.with(0, wrong).with(1, SECOND),
      at: 2,
    });
  });

  test("one symbol too many does not push away the next row", () => {
    const { rows, at } = typeIntoRow(CODE, 0, `${FIRST}7`, BITS, true);
    expect(rows).toEqual(CODE.with(0, `${FIRST}-7`));
    expect(at).toBe(0);
  });

  test("a row that was put right leads on only to one that is not", () => {
    expect(typeIntoRow(CODE, 0, FIRST, BITS, true).at).toBe(0);
    expect(typeIntoRow(CODE.with(1, ""), 0, FIRST, BITS, true).at).toBe(1);
  });

  test("behind the last row there is no other", () => {
    const last = CODE.at(-1) ?? "";
    expect(typeIntoRow(CODE, 5, `${last}77`, BITS, true)).toEqual({
      rows: CODE.with(5, `${last}-77`),
      at: 5,
    });
  });
});

test("elsewhere in a row nothing moves: what is typed stays as it is typed", () => {
  expect(typeIntoRow(CODE, 1, "ab-cdefg ", BITS, false)).toEqual({
    rows: CODE.with(1, "ab-cdefg "),
    at: 1,
  });
});

describe("pasted", () => {
  test("a whole code takes the place of everything, in whichever row", () => {
    for (const row of [0, 3, 5]) {
      const pasted = pasteCode(EMPTY.with(0, "OLD"), row, CODE.join("\r\n"), BITS);
      expect(pasted).toEqual({ rows: CODE, at: 5 });
    }
  });

  test("several rows go from this row on and leave those before", () => {
    const pasted = pasteCode(CODE.with(4, "WRONG"), 1, CODE.slice(1, 3).join(" "), BITS);
    expect(pasted).toEqual({ rows: [...CODE.slice(0, 3), "", "", ""], at: 3 });
  });

  test("less than a row is the browser's to paste", () => {
    expect(pasteCode(CODE, 1, SECOND, BITS)).toBeNull();
    expect(pasteCode(EMPTY, 0, "7", BITS)).toBeNull();
  });
});

test("every symbol has a word of its own", () => {
  const symbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  expect(new Set(spellSymbols(symbols)).size).toBe(32);
  expect(spellSymbols("n0-x")).toEqual(["November", "zero", "X-ray"]);
});
