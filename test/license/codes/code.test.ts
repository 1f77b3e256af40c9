import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  canonicalizeCode,
  checkCodeRows,
  CODE_BITS,
  decodeCode,
  describeCodeFault,
  encodeCode,
  decodeCrockford,
  groupSymbols,
  codeRowSizes,
  encodeCrockford,
} from "../../../src/license/codes/code.ts";

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ROW = 20;

/** An activation code and a confirmation code. */
const SIZES = [
  { bits: 165, data: 33, typed: 35, rows: 2 },
  { bits: 544, data: 109, typed: 115, rows: 6 },
] as const;

/** Bytes for `bits` bits, with the unused bits of the last byte zero. */
const bytesOf = (bits: number) =>
  fc.uint8Array({ minLength: Math.ceil(bits / 8), maxLength: Math.ceil(bits / 8) }).map((bytes) => {
    const last = bytes.length - 1;
    const unused = bytes.length * 8 - bits;
    return new Uint8Array(bytes.with(last, ((bytes[last] ?? 0) >> unused) << unused));
  });

const anyCode = fc
  .integer({ min: 1, max: 600 })
  .chain((bits) => bytesOf(bits).map((bytes) => ({ bits, bytes })));

/** A few codes, which the tests damage in every possible way. */
const sampleCodes = (bits: number): string[] =>
  fc
    .sample(bytesOf(bits), { numRuns: 5, seed: 45 })
    .map((b) => canonicalizeCode(encodeCode(b, bits)));

const rowOf = (at: number): number => Math.floor(at / ROW) + 1;
const wrongRow = (row: number) => ({ ok: false, fault: { wrong: "row", row } }) as const;
const wrongCount = (row: number, symbols: number, expected: number) =>
  ({ ok: false, fault: { wrong: "row length", row, symbols, expected } }) as const;
const describeFault = (code: string, bits: number): string => {
  const decoded = decodeCode(code, bits);
  return decoded.ok ? "right" : describeCodeFault(decoded.fault);
};
const replaceAt = (code: string, index: number, text: string): string =>
  code.slice(0, index) + text + code.slice(index + text.length);

test("encodeCode writes rows of four groups of five symbols; the last row may be shorter", () => {
  const zeros = new Uint8Array(68);
  // For zeros, the check symbol is x²⁰ times the row number: 12, then 24.
  expect(encodeCode(zeros, 165)).toBe("00000-00000-00000-0000C\n00000-00000-0000R");
  expect(encodeCode(zeros, 544).split("\n")).toHaveLength(6);
});

test.each(SIZES)(
  "$bits bits are $data symbols, and $typed with check symbols",
  ({ bits, data, typed, rows }) => {
    const bytes = new Uint8Array(Math.ceil(bits / 8));
    expect(encodeCrockford(bytes, bits)).toHaveLength(data);
    expect(canonicalizeCode(encodeCode(bytes, bits))).toHaveLength(typed);
    expect(encodeCode(bytes, bits).split("\n")).toHaveLength(rows);
  },
);

test("decodeCode names the line that lacks a symbol, also if another row could lack it", () => {
  // Of one code in 32, the row that lacks its first symbol is right with the symbol before it.
  for (const bytes of fc.sample(bytesOf(544), { numRuns: 200, seed: 45 })) {
    const rows = encodeCode(bytes, 544).split("\n");
    const shortRow = (rows[2] ?? "").slice(1);
    expect(decodeCode(rows.with(2, shortRow).join("\n"), 544)).toEqual(wrongCount(3, 19, 20));
  }
});

test("decodeCode and decodeCrockford restore encoded bytes of any length", () => {
  fc.assert(
    fc.property(anyCode, ({ bits, bytes }) => {
      expect(decodeCode(encodeCode(bytes, bits), bits)).toEqual({ ok: true, bytes });
      expect(decodeCrockford(encodeCrockford(bytes, bits), bits)).toEqual(bytes);
    }),
  );
});

describe.each(SIZES)("decodeCode of $bits bits", ({ bits, typed }) => {
  test("names the row of any wrong symbol", () => {
    for (const code of sampleCodes(bits)) {
      for (let at = 0; at < typed; at += 1) {
        for (const symbol of SYMBOLS.replace(code.charAt(at), "")) {
          expect(decodeCode(replaceAt(code, at, symbol), bits)).toEqual(wrongRow(rowOf(at)));
        }
      }
    }
  });

  test("names the first row of any two swapped adjacent symbols", () => {
    for (const code of sampleCodes(bits)) {
      for (let at = 0; at + 1 < typed; at += 1) {
        const [a, b] = [code.charAt(at), code.charAt(at + 1)];
        if (a === b) continue;
        expect(decodeCode(replaceAt(code, at, b + a), bits)).toEqual(wrongRow(rowOf(at)));
      }
    }
  });

  test("names the row of a symbol outside the alphabet, also of a check symbol", () => {
    for (const code of sampleCodes(bits)) {
      for (let at = 0; at < typed; at += 1) {
        for (const symbol of ["U", "!", "_", "É"]) {
          expect(decodeCode(replaceAt(code, at, symbol), bits)).toEqual(wrongRow(rowOf(at)));
        }
      }
    }
  });

  /** One of 32 wrong rows has the right check symbol by chance: then the row beside it is named. */
  const expectMostly = (
    cases: readonly (readonly [typed: string, row: number, surplus: number])[],
  ): void => {
    const sizes = codeRowSizes(bits);
    const wrong = cases.filter(([changed, row, surplus]) => {
      const size = sizes[row - 1] ?? 0;
      return !Bun.deepEquals(decodeCode(changed, bits), wrongCount(row, size + surplus, size));
    });
    expect(wrong.length).toBeLessThan(cases.length / 16);
  };

  test("names the row with a missing symbol, and how many it has", () => {
    const cases = sampleCodes(bits).flatMap((code) =>
      Array.from(code).flatMap((symbol, at) => {
        // Then it cannot be known which of two rows lacks it.
        if (symbol === code[at - 1] || symbol === code[at + 1]) return [];
        return [[code.slice(0, at) + code.slice(at + 1), rowOf(at), -1] as const];
      }),
    );
    expectMostly(cases);
  });

  test("names the row with an extra symbol; between two rows, the first of them", () => {
    const cases = sampleCodes(bits).flatMap((code) =>
      Array.from(code).flatMap((symbol, before) => {
        if (symbol === "7") return [];
        const at = before + 1;
        return [[`${code.slice(0, at)}7${code.slice(at)}`, rowOf(before), 1] as const];
      }),
    );
    expectMostly(cases);
  });

  test("names a missing row", () => {
    for (const code of sampleCodes(bits)) {
      for (const [index, size] of codeRowSizes(bits).entries()) {
        const missing = code.slice(0, index * ROW) + code.slice(index * ROW + size);
        expect(decodeCode(missing, bits)).toEqual(wrongCount(index + 1, 0, size));
      }
    }
  });

  test("counts all symbols if no single row explains the length", () => {
    for (const code of ["", " -\n"]) {
      expect(describeFault(code, bits)).toBe(
        `the code has 0 symbols instead of ${typed}; row 1 is the first wrong one`,
      );
    }
  });
});

test("describeCodeFault says what to read again", () => {
  const rows = encodeCode(new Uint8Array(68).fill(7), 544).split("\n");
  const [first = "", second = ""] = rows;
  const describe = (typed: readonly string[]): string => describeFault(typed.join("\n"), 544);
  expect(describe(rows.with(1, second.slice(1)))).toBe(
    "row 2 of the code has 19 symbols instead of 20",
  );
  expect(describe(rows.with(0, `${first}0`))).toBe(
    "row 1 of the code has 21 symbols instead of 20",
  );
  expect(describe(rows.toSpliced(1, 1))).toBe("row 2 of the code is missing");
  expect(describe(rows.with(1, "").with(3, ""))).toBe(
    "the code has 75 symbols instead of 115; row 2 is the first wrong one",
  );
  expect(describe(rows.with(1, first))).toBe("row 2 of the code was misread or mistyped");
});

test("decodeCode names the first of two swapped rows", () => {
  for (const code of sampleCodes(544)) {
    const full = [0, 1, 2, 3, 4];
    for (const [i, j] of full.flatMap((i) => full.slice(i + 1).map((j) => [i, j] as const))) {
      const row = (index: number): string => code.slice(index * ROW, (index + 1) * ROW);
      const exchanged = replaceAt(replaceAt(code, i * ROW, row(j)), j * ROW, row(i));
      expect(decodeCode(exchanged, 544)).toEqual(wrongRow(i + 1));
    }
  }
});

describe("checkCodeRows", () => {
  test("reports every row of an empty input as short", () => {
    expect(codeRowSizes(CODE_BITS.activation)).toEqual([20, 15]);
    expect(codeRowSizes(CODE_BITS.initialization)).toEqual([20]);
    expect(codeRowSizes(CODE_BITS.confirmation)).toEqual([20, 20, 20, 20, 20, 15]);
    expect(checkCodeRows([], CODE_BITS.activation)).toEqual(["short", "short"]);
  });

  test("agrees with decodeCode on every row, at any length", () => {
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
          const changed = replaceAt(canonicalizeCode(code), at % canonicalizeCode(code).length, by);
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

  test("reports one symbol too few or too many for that row only", () => {
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

  test("reports rows in the wrong order as wrong", () => {
    const rows = encodeCode(new Uint8Array(68).fill(7), CODE_BITS.confirmation).split("\n");
    const [first = "", second = ""] = rows;
    const marks = checkCodeRows([second, first, ...rows.slice(2)], CODE_BITS.confirmation);
    expect(marks.slice(0, 3)).toEqual(["wrong", "wrong", "right"]);
  });

  test("groupSymbols groups any symbols by five", () => {
    expect(groupSymbols("")).toBe("");
    expect(groupSymbols("ABCDE")).toBe("ABCDE");
    expect(groupSymbols("ABCDEF")).toBe("ABCDE-F");
    expect(groupSymbols("😀BCDEF")).toBe("😀BCDE-F");
  });
});

describe("the spelling of a typed code", () => {
  const noise = fc.constantFrom("", "", "", " ", "-", "\n", "\t", "\r\n", " - ", "\u00a0");
  const spellings: Readonly<Record<string, readonly string[]>> = {
    0: ["0", "O", "o"],
    1: ["1", "I", "i", "L", "l"],
  };

  test("may vary in case, white space, dashes, and I, L and O", () => {
    fc.assert(
      fc.property(
        anyCode,
        fc.infiniteStream(fc.nat()),
        fc.infiniteStream(noise),
        (of, pick, gap) => {
          const code = encodeCode(of.bytes, of.bits);
          const typed = Array.from(canonicalizeCode(code)).map((symbol) => {
            const variants = spellings[symbol] ?? [symbol, symbol.toLowerCase()];
            return `${gap.next().value}${variants[pick.next().value % variants.length]}${gap.next().value}`;
          });
          expect(decodeCode(typed.join(""), of.bits)).toEqual({ ok: true, bytes: of.bytes });
          expect(canonicalizeCode(typed.join(""))).toBe(canonicalizeCode(code));
        },
      ),
    );
  });

  test("may not vary for decodeCrockford", () => {
    expect(decodeCrockford("01", 10)).toEqual(new Uint8Array([0, 0b0100_0000]));
    for (const other of ["O1", "0I", "0l", "0-1", " 01", "01\n", "0", "011", "0U", ""]) {
      expect(decodeCrockford(other, 10)).toBeNull();
    }
  });
});

describe("the padding bits of the last symbol", () => {
  test("must be zero, even if every check symbol is correct", () => {
    // 545 bits need as many symbols as 544, so the last bit is padding for a reader of 544.
    const bytes = new Uint8Array(69);
    expect(decodeCode(encodeCode(bytes, 545), 544)).toEqual({
      ok: true,
      bytes: bytes.slice(0, 68),
    });
    bytes[68] = 0b1000_0000;
    expect(decodeCode(encodeCode(bytes, 545), 544)).toEqual(wrongRow(6));
    expect(decodeCrockford(encodeCrockford(bytes, 545), 544)).toBeNull();
  });

  test("are not read from the bytes", () => {
    const ones = new Uint8Array(1).fill(255);
    expect(encodeCrockford(ones, 6)).toBe("ZG");
    expect(decodeCrockford("ZG", 6)).toEqual(new Uint8Array([0b1111_1100]));
    for (const padded of ["ZH", "ZJ", "ZM", "ZR", "ZZ"]) {
      expect(decodeCrockford(padded, 6)).toBeNull();
    }
  });
});
