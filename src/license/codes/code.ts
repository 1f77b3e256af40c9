/**
 * Codes that fit a phone call: Crockford Base32 in rows of up to 19 symbols and a check symbol,
 * shown as four groups of five. The check detects every wrong symbol, every swap of neighbours and
 * every exchange of full rows, and identifies the row to read again.
 */

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Symbols per row, without the check. */
const ROW = 19;
/** Every five symbols except the last group. */
const GROUPS = /.{5}(?=.)/gu;

/** Letters that are easily taken for digits. */
const READ_AS = new Map([
  ["I", "1"],
  ["L", "1"],
  ["O", "0"],
]);

/** The length of each code in bits; the number of rows follows from it. */
export const CODE_BITS = {
  activation: 165,
  confirmation: 544,
  initialization: 95,
  /** A license key that a desk made. */
  orderKey: 93,
  time: 125,
  /** The seed of a root key, on paper. */
  root: 256,
} as const;

/** Rows are counted from 1. */
export type CodeFault =
  | { readonly wrong: "row"; readonly row: number }
  /** All other rows are right, so that the symbols are missing or too many in this one. */
  | ({ readonly wrong: "row length" } & RowCount)
  /** Of the whole code; `row` is the first one that is not right. */
  | ({ readonly wrong: "length" } & RowCount);

interface RowCount {
  readonly row: number;
  readonly symbols: number;
  readonly expected: number;
}

export type DecodedCode =
  | { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly ok: false; readonly fault: CodeFault };

/** Encodes the first `bits` bits of `bytes` as rows of groups. */
export function encodeCode(bytes: Uint8Array, bits: number): string {
  const symbols = toSymbols(bytes, bits);
  const rows: string[] = [];
  for (let start = 0; start < symbols.length; start += ROW) {
    const row = symbols.slice(start, start + ROW);
    const text = [...row, checkOf(row, rows.length + 1)].map((value) => ALPHABET[value]).join("");
    rows.push(groupSymbols(text));
  }
  return rows.join("\n");
}

/** Puts symbols into groups, as they are shown. */
export const groupSymbols = (symbols: string): string => symbols.replaceAll(GROUPS, "$&-");

/** Ignores case, white space and dashes. The code must have exactly `bits` bits. */
export function decodeCode(code: string, bits: number): DecodedCode {
  const canonical = canonicalizeCode(code);
  const sizes = codeRowSizes(bits);
  if (canonical.length !== sumOf(sizes))
    return { ok: false, fault: findWrongLine(code, sizes) ?? findWrongLength(canonical, sizes) };
  const symbols: number[] = [];
  for (const [index, size] of sizes.entries()) {
    const start = index * (ROW + 1);
    const values = readRow(canonical.slice(start, start + size), index + 1);
    if (values === null) return { ok: false, fault: { wrong: "row", row: index + 1 } };
    symbols.push(...values);
  }
  const bytes = toBytes(symbols, bits);
  // The check symbols are right, but the last symbol is none that such a code can end with.
  if (bytes === null) return { ok: false, fault: { wrong: "row", row: sizes.length } };
  return { ok: true, bytes };
}

const sumOf = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);

/** The only line of the wrong length, of a code that was typed in as many lines as it has rows. */
function findWrongLine(code: string, sizes: readonly number[]): CodeFault | null {
  const lines = code.trim().split("\n").map(canonicalizeCode);
  if (lines.length !== sizes.length) return null;
  const [fault, another] = sizes.flatMap((expected, index): CodeFault[] => {
    const symbols = lines[index]?.length ?? 0;
    return symbols === expected ? [] : [{ wrong: "row length", row: index + 1, symbols, expected }];
  });
  return another === undefined ? (fault ?? null) : null;
}

/**
 * Finds the row with a missing or an extra symbol, or the missing row: the rows before it are right
 * from the beginning of the code, and those after it from the end.
 */
function findWrongLength(code: string, sizes: readonly number[]): CodeFault {
  const expected = sumOf(sizes);
  const surplus = code.length - expected;
  const isRight = (index: number, shift: number): boolean => {
    const start = index * (ROW + 1) + shift;
    const size = sizes[index] ?? 0;
    const row = code.slice(Math.max(start, 0), start + size);
    return row.length === size && readRow(row, index + 1) !== null;
  };
  const candidates = [...sizes.entries()]
    .map(([index, size]) => ({ index, size, symbols: size + surplus }))
    .filter(({ index, symbols }) =>
      sizes.every(
        (_, other) =>
          symbols >= 0 && (other === index || isRight(other, other < index ? 0 : surplus)),
      ),
    );
  // By chance, one of 32 wrong rows has the right check symbol: two rows may explain the length.
  const isWrong = ({ index }: { readonly index: number }): boolean =>
    !isRight(index, 0) && !isRight(index, surplus);
  const found = candidates.find(isWrong) ?? candidates[0];
  if (found !== undefined) {
    const { index, size, symbols } = found;
    return { wrong: "row length", row: index + 1, symbols, expected: size };
  }
  const row = sizes.findIndex((_, index) => !isRight(index, 0)) + 1;
  return { wrong: "length", row, symbols: code.length, expected };
}

/** Completes a sentence such as `this is not an activation code: …`. */
export function describeCodeFault(fault: CodeFault): string {
  const { row } = fault;
  if (fault.wrong === "row") return `row ${row} of the code was misread or mistyped`;
  const { symbols, expected } = fault;
  const count = `${symbols === 1 ? "1 symbol" : `${symbols} symbols`} instead of ${expected}`;
  if (fault.wrong === "length") return `the code has ${count}; row ${row} is the first wrong one`;
  return symbols === 0
    ? `row ${row} of the code is missing`
    : `row ${row} of the code has ${count}`;
}

/** The number of symbols in each row of a code, including the check symbol. */
export function codeRowSizes(bits: number): number[] {
  const count = Math.ceil(bits / 5);
  const rows = Math.ceil(count / ROW);
  return Array.from({ length: rows }, (_, row) => Math.min(ROW, count - row * ROW) + 1);
}

/** The state of a row while it is typed. */
export type CodeRowStatus = "short" | "right" | "wrong" | "long";

/** Checks each row typed so far, by the same rule as a complete code; an empty row is short. */
export function checkCodeRows(typed: readonly string[], bits: number): CodeRowStatus[] {
  return codeRowSizes(bits).map((size, index) => {
    const row = canonicalizeCode(typed[index] ?? "");
    // Counts characters, as a person does, also those that are no symbols.
    const count = Array.from(row).length;
    if (count !== size) return count < size ? "short" : "long";
    return readRow(row, index + 1) === null ? "wrong" : "right";
  });
}

/** The values of a row without its check symbol; null when the check fails. */
function readRow(text: string, row: number): number[] | null {
  const values = valuesOf(text);
  const check = values.pop();
  return values.includes(-1) || check !== checkOf(values, row) ? null : values;
}

/** The canonical symbols, however the code was typed: a signature over a code covers these. */
export const canonicalizeCode = (code: string): string =>
  code
    // Includes the variants of dashes and spaces that mail programs and word processors insert.
    .replaceAll(/[\s\p{Pd}\p{Cf}\u2212]/gu, "")
    .replaceAll(/[a-z]/g, (char) => char.toUpperCase())
    .replaceAll(/[ILO]/g, (char) => READ_AS.get(char) ?? char);

/** Encodes bytes without check symbols: for ids that are shown and never typed. */
export const encodeCrockford = (bytes: Uint8Array, bits: number): string =>
  toSymbols(bytes, bits)
    .map((value) => ALPHABET[value])
    .join("");

/** Null when the text is not a valid encoding of `bits` bits. */
export function decodeCrockford(text: string, bits: number): Uint8Array<ArrayBuffer> | null {
  const values = valuesOf(text);
  if (values.includes(-1) || values.length !== Math.ceil(bits / 5)) return null;
  return toBytes(values, bits);
}

const valuesOf = (text: string): number[] => Array.from(text, (char) => ALPHABET.indexOf(char));

function toSymbols(bytes: Uint8Array, bits: number): number[] {
  const symbols: number[] = [];
  for (let start = 0; start < bits; start += 5) {
    let value = 0;
    for (let bit = start; bit < start + 5; bit += 1) {
      value = (value << 1) | (bit < bits ? ((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1 : 0);
    }
    symbols.push(value);
  }
  return symbols;
}

/** Null when the padding is not zero: each code must have exactly one spelling. */
function toBytes(symbols: readonly number[], bits: number): Uint8Array<ArrayBuffer> | null {
  const bytes = new Uint8Array(Math.ceil(bits / 8));
  for (const [index, value] of symbols.entries()) {
    for (let bit = 0; bit < 5; bit += 1) {
      if (((value >> (4 - bit)) & 1) === 0) continue;
      const position = index * 5 + bit;
      if (position >= bits) return null;
      bytes[position >> 3] = (bytes[position >> 3] ?? 0) | (1 << (7 - (position & 7)));
    }
  }
  return bytes;
}

/** Powers of x in GF(32) with x⁵ + x² + 1. */
const POWERS = (() => {
  const powers = [1];
  for (let i = 1; i < 31; i += 1) powers.push(timesX(powers[i - 1] ?? 0));
  return powers;
})();

function timesX(value: number): number {
  const shifted = value << 1;
  return shifted & 32 ? (shifted ^ 0b100101) & 31 : shifted;
}

function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 0, shifted = a; bit < 5; bit += 1, shifted = timesX(shifted)) {
    if ((b >> bit) & 1) product ^= shifted;
  }
  return product;
}

/** Σ xⁱ·sᵢ + x²⁰·row, symbols and rows counted from 1. */
function checkOf(symbols: readonly number[], row: number): number {
  const weighted = symbols.map((symbol, index) => times(POWERS[index + 1] ?? 0, symbol));
  return weighted.reduce((sum, part) => sum ^ part, times(POWERS[20] ?? 0, row & 31));
}
