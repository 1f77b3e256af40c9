import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  canonicalizeCode,
  checkCodeRows,
  CODE_BITS,
  decodeCode,
  encodeCode,
  decodeCrockford,
  groupSymbols,
  codeRowSizes,
  encodeCrockford,
} from "../../src/license/code.ts";

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ROW = 20;

/** An activation code and a confirmation code. */
const SIZES = [
  { bits: 165, data: 33, typed: 35, rows: 2 },
  { bits: 544, data: 109, typed: 115, rows: 6 },
] as const;

/** As many bytes as `bits` need, what is left over of the last one zero. */
const bytesOf = (bits: number) =>
  fc.uint8Array({ minLength: Math.ceil(bits / 8), maxLength: Math.ceil(bits / 8) }).map((bytes) => {
    const last = bytes.length - 1;
    const unused = bytes.length * 8 - bits;
    return new Uint8Array(bytes.with(last, ((bytes[last] ?? 0) >> unused) << unused));
  });

const anyCode = fc
  .integer({ min: 1, max: 600 })
  .chain((bits) => bytesOf(bits).map((bytes) => ({ bits, bytes })));

/** A few codes to break in every way there is. */
const samples = (bits: number): string[] =>
  fc
    .sample(bytesOf(bits), { numRuns: 5, seed: 45 })
    .map((b) => canonicalizeCode(encodeCode(b, bits)));

const rowOf = (at: number): number => Math.floor(at / ROW) + 1;
const wrongRow = (row: number) => ({ ok: false, fault: { wrong: "row", row } }) as const;
const wrongLength = { ok: false, fault: { wrong: "length" } } as const;
const replaced = (code: string, at: number, by: string): string =>
  code.slice(0, at) + by + code.slice(at + by.length);

test("a code has rows of four groups of five, the last as short as it comes", () => {
  const zeros = new Uint8Array(68);
  // Of nothing but zeros the check is x²⁰ times the row: 12, then 24.
  expect(encodeCode(zeros, 165)).toBe("00000-00000-00000-0000C\n00000-00000-0000R");
  expect(encodeCode(zeros, 544).split("\n")).toHaveLength(6);
});

test.each(SIZES)(
  "$bits bits are $data symbols, $typed with checks",
  ({ bits, data, typed, rows }) => {
    const bytes = new Uint8Array(Math.ceil(bits / 8));
    expect(encodeCrockford(bytes, bits)).toHaveLength(data);
    expect(canonicalizeCode(encodeCode(bytes, bits))).toHaveLength(typed);
    expect(encodeCode(bytes, bits).split("\n")).toHaveLength(rows);
  },
);

test("what was encoded is decoded, at any length", () => {
  fc.assert(
    fc.property(anyCode, ({ bits, bytes }) => {
      expect(decodeCode(encodeCode(bytes, bits), bits)).toEqual({ ok: true, bytes });
      expect(decodeCrockford(encodeCrockford(bytes, bits), bits)).toEqual(bytes);
    }),
  );
});

describe.each(SIZES)("of a code of $bits bits", ({ bits, typed }) => {
  test("every wrong symbol is caught, and its row named", () => {
    for (const code of samples(bits)) {
      for (let at = 0; at < typed; at += 1) {
        for (const symbol of SYMBOLS.replace(code.charAt(at), "")) {
          expect(decodeCode(replaced(code, at, symbol), bits)).toEqual(wrongRow(rowOf(at)));
        }
      }
    }
  });

  test("every swap of neighbours is caught, and the first row it touches named", () => {
    for (const code of samples(bits)) {
      for (let at = 0; at + 1 < typed; at += 1) {
        const [a, b] = [code.charAt(at), code.charAt(at + 1)];
        if (a === b) continue;
        expect(decodeCode(replaced(code, at, b + a), bits)).toEqual(wrongRow(rowOf(at)));
      }
    }
  });

  test("a symbol outside the alphabet is a wrong row, check symbols included", () => {
    for (const code of samples(bits)) {
      for (let at = 0; at < typed; at += 1) {
        for (const symbol of ["U", "!", "_", "É"]) {
          expect(decodeCode(replaced(code, at, symbol), bits)).toEqual(wrongRow(rowOf(at)));
        }
      }
    }
  });

  test("one symbol more or less, or none at all, is a wrong length", () => {
    for (const code of samples(bits)) {
      expect(decodeCode(`${code}0`, bits)).toEqual(wrongLength);
      for (let at = 0; at < typed; at += 1) {
        expect(decodeCode(code.slice(0, at) + code.slice(at + 1), bits)).toEqual(wrongLength);
      }
    }
    expect(decodeCode("", bits)).toEqual(wrongLength);
    expect(decodeCode(" -\n", bits)).toEqual(wrongLength);
  });
});

test("every exchange of two full rows is caught, and the first of them named", () => {
  for (const code of samples(544)) {
    const full = [0, 1, 2, 3, 4];
    for (const [i, j] of full.flatMap((i) => full.slice(i + 1).map((j) => [i, j] as const))) {
      const row = (index: number): string => code.slice(index * ROW, (index + 1) * ROW);
      const exchanged = replaced(replaced(code, i * ROW, row(j)), j * ROW, row(i));
      expect(decodeCode(exchanged, 544)).toEqual(wrongRow(i + 1));
    }
  }
});

describe("row by row, while it is typed", () => {
  test("the rows of each code are known before its first symbol", () => {
    expect(codeRowSizes(CODE_BITS.activation)).toEqual([20, 15]);
    expect(codeRowSizes(CODE_BITS.initialization)).toEqual([20]);
    expect(codeRowSizes(CODE_BITS.confirmation)).toEqual([20, 20, 20, 20, 20, 15]);
    expect(checkCodeRows([], CODE_BITS.activation)).toEqual(["short", "short"]);
  });

  test("a row is right exactly where the whole code would be, at any length", () => {
    fc.assert(
      fc.property(
        anyCode,
        fc.nat(),
        fc.constantFrom(...SYMBOLS.split(""), "U", "é", "!"),
        (of, at, by) => {
          const rows = encodeCode(of.bytes, of.bits).split("\n");
          expect(rows.map((row) => canonicalizeCode(row).length)).toEqual(codeRowSizes(of.bits));
          expect(checkCodeRows(rows, of.bits)).toEqual(rows.map(() => "right"));
          const code = rows.join("");
          const changed = replaced(canonicalizeCode(code), at % canonicalizeCode(code).length, by);
          const typed = rows.map((_, row) => changed.slice(row * ROW, (row + 1) * ROW));
          const decoded = decodeCode(changed, of.bits);
          const wrong = checkCodeRows(typed, of.bits).indexOf("wrong");
          if (!decoded.ok && decoded.fault.wrong === "row")
            expect(wrong).toBe(decoded.fault.row - 1);
          else expect(wrong).toBe(-1);
        },
      ),
    );
  });

  test("one symbol too few or too many is said of that row alone", () => {
    const rows = encodeCode(new Uint8Array(68).fill(7), CODE_BITS.confirmation).split("\n");
    const typed = rows.with(1, (rows[1] ?? "").slice(1)).with(3, `${rows[3]}0`);
    expect(checkCodeRows(typed, CODE_BITS.confirmation)).toEqual([
      "right",
      "short",
      "right",
      "long",
      "right",
      "right",
    ]);
  });

  test("a row is right in its own place only", () => {
    const rows = encodeCode(new Uint8Array(68).fill(7), CODE_BITS.confirmation).split("\n");
    const [first = "", second = ""] = rows;
    const marks = checkCodeRows([second, first, ...rows.slice(2)], CODE_BITS.confirmation);
    expect(marks.slice(0, 3)).toEqual(["wrong", "wrong", "right"]);
  });

  test("symbols are shown in groups, whatever they are", () => {
    expect(groupSymbols("")).toBe("");
    expect(groupSymbols("ABCDE")).toBe("ABCDE");
    expect(groupSymbols("ABCDEF")).toBe("ABCDE-F");
    expect(groupSymbols("😀BCDEF")).toBe("😀BCDE-F");
  });
});

describe("however it is typed", () => {
  const noise = fc.constantFrom("", "", "", " ", "-", "\n", "\t", "\r\n", " - ", "\u00a0");
  const spelling: Readonly<Record<string, readonly string[]>> = {
    0: ["0", "O", "o"],
    1: ["1", "I", "i", "L", "l"],
  };

  test("case, white space, dashes and I, L, O do not matter", () => {
    fc.assert(
      fc.property(
        anyCode,
        fc.infiniteStream(fc.nat()),
        fc.infiniteStream(noise),
        (of, pick, gap) => {
          const code = encodeCode(of.bytes, of.bits);
          const typed = Array.from(canonicalizeCode(code)).map((symbol) => {
            const ways = spelling[symbol] ?? [symbol, symbol.toLowerCase()];
            return `${gap.next().value}${ways[pick.next().value % ways.length]}${gap.next().value}`;
          });
          expect(decodeCode(typed.join(""), of.bits)).toEqual({ ok: true, bytes: of.bytes });
          expect(canonicalizeCode(typed.join(""))).toBe(canonicalizeCode(code));
        },
      ),
    );
  });

  test("a name that is only shown has one spelling", () => {
    expect(decodeCrockford("01", 10)).toEqual(new Uint8Array([0, 0b0100_0000]));
    for (const other of ["O1", "0I", "0l", "0-1", " 01", "01\n", "0", "011", "0U", ""]) {
      expect(decodeCrockford(other, 10)).toBeNull();
    }
  });
});

describe("the bits that pad the last symbol", () => {
  test("must be zero, even where every check is right", () => {
    // 545 bits are as many symbols as 544, so the last bit is padding to whoever expects 544.
    const bytes = new Uint8Array(69);
    expect(decodeCode(encodeCode(bytes, 545), 544)).toEqual({
      ok: true,
      bytes: bytes.slice(0, 68),
    });
    bytes[68] = 0b1000_0000;
    expect(decodeCode(encodeCode(bytes, 545), 544)).toEqual(wrongLength);
    expect(decodeCrockford(encodeCrockford(bytes, 545), 544)).toBeNull();
  });

  test("are not taken from the bytes", () => {
    const ones = new Uint8Array(1).fill(255);
    expect(encodeCrockford(ones, 6)).toBe("ZG");
    expect(decodeCrockford("ZG", 6)).toEqual(new Uint8Array([0b1111_1100]));
    for (const padded of ["ZH", "ZJ", "ZM", "ZR", "ZZ"]) {
      expect(decodeCrockford(padded, 6)).toBeNull();
    }
  });
});
