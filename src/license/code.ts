/**
 * Codes that fit a phone call: Crockford Base32 in rows of up to 19 symbols and a check symbol,
 * shown as four groups of five. The check catches every wrong symbol, every swap of neighbours and
 * every exchange of full rows, and tells which row to read again.
 */

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ROW = 19;
/** Every five symbols that are not the last. */
const GROUPS = /.{5}(?=.)/gu;

/** Letters that are heard or read as digits. */
const READ_AS = new Map([
  ["I", "1"],
  ["L", "1"],
  ["O", "0"],
]);

/** How long each code that people read out or type is, in bits; its rows follow from that. */
export const CODE_BITS = {
  activation: 165,
  confirmation: 544,
  initialization: 95,
  time: 125,
} as const;

export type CodeFault =
  | { readonly wrong: "length" }
  /** Counted from 1, as a person counts. */
  | { readonly wrong: "row"; readonly row: number };

export type DecodedCode =
  | { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly ok: false; readonly fault: CodeFault };

/** The first `bits` bits of `bytes`, as rows of groups. */
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

/** Symbols as they are shown, in groups. */
export const groupSymbols = (symbols: string): string => symbols.replaceAll(GROUPS, "$&-");

/** Case, white space and dashes do not matter. Exactly `bits` bits must come out. */
export function decodeCode(code: string, bits: number): DecodedCode {
  const read = canonicalizeCode(code);
  const sizes = codeRowSizes(bits);
  if (read.length !== sizes.reduce((sum, size) => sum + size, 0)) return wrongLength;
  const symbols: number[] = [];
  for (const [index, size] of sizes.entries()) {
    const start = index * (ROW + 1);
    const values = readRow(read.slice(start, start + size), index + 1);
    if (values === null) return { ok: false, fault: { wrong: "row", row: index + 1 } };
    symbols.push(...values);
  }
  const bytes = toBytes(symbols, bits);
  return bytes === null ? wrongLength : { ok: true, bytes };
}

/** How many symbols each row of such a code has, its check included. */
export function codeRowSizes(bits: number): number[] {
  const count = Math.ceil(bits / 5);
  const rows = Math.ceil(count / ROW);
  return Array.from({ length: rows }, (_, row) => Math.min(ROW, count - row * ROW) + 1);
}

/** What is to be said of a row while somebody types it. */
export type CodeRowStatus = "short" | "right" | "wrong" | "long";

/** The same check as of a whole code, for each row that is typed so far; none typed is short. */
export function checkCodeRows(typed: readonly string[], bits: number): CodeRowStatus[] {
  return codeRowSizes(bits).map((size, index) => {
    const row = canonicalizeCode(typed[index] ?? "");
    // By characters, as a person counts them: whatever else was typed counts as one each.
    const count = Array.from(row).length;
    if (count !== size) return count < size ? "short" : "long";
    return readRow(row, index + 1) === null ? "wrong" : "right";
  });
}

/** The values of a row without its check; null when they do not fit together. */
function readRow(text: string, row: number): number[] | null {
  const values = valuesOf(text);
  const check = values.pop();
  return values.includes(-1) || check !== checkOf(values, row) ? null : values;
}

/** The symbols as they count: what a signature over a code covers, however the code was typed. */
export const canonicalizeCode = (code: string): string =>
  code
    // Whatever a mail program or a word processor makes of a dash or a space.
    .replaceAll(/[\s\p{Pd}\p{Cf}\u2212]/gu, "")
    .replaceAll(/[a-z]/g, (char) => char.toUpperCase())
    .replaceAll(/[ILO]/g, (char) => READ_AS.get(char) ?? char);

/** Bytes as symbols without checks: for names that are shown and never typed. */
export const encodeCrockford = (bytes: Uint8Array, bits: number): string =>
  toSymbols(bytes, bits)
    .map((value) => ALPHABET[value])
    .join("");

/** Null when the text is not exactly that. */
export function decodeCrockford(text: string, bits: number): Uint8Array<ArrayBuffer> | null {
  const values = valuesOf(text);
  if (values.includes(-1) || values.length !== Math.ceil(bits / 5)) return null;
  return toBytes(values, bits);
}

const valuesOf = (text: string): number[] => Array.from(text, (char) => ALPHABET.indexOf(char));

const wrongLength: DecodedCode = { ok: false, fault: { wrong: "length" } };

function toSymbols(bytes: Uint8Array, bits: number): number[] {
  const symbols: number[] = [];
  for (let at = 0; at < bits; at += 5) {
    let value = 0;
    for (let bit = at; bit < at + 5; bit += 1) {
      value = (value << 1) | (bit < bits ? ((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1 : 0);
    }
    symbols.push(value);
  }
  return symbols;
}

/** Null when the padding is not zero: one code must have one spelling. */
function toBytes(symbols: readonly number[], bits: number): Uint8Array<ArrayBuffer> | null {
  const bytes = new Uint8Array(Math.ceil(bits / 8));
  for (const [index, value] of symbols.entries()) {
    for (let bit = 0; bit < 5; bit += 1) {
      if (((value >> (4 - bit)) & 1) === 0) continue;
      const at = index * 5 + bit;
      if (at >= bits) return null;
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (7 - (at & 7)));
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
  const weighed = symbols.map((symbol, index) => times(POWERS[index + 1] ?? 0, symbol));
  return weighed.reduce((sum, part) => sum ^ part, times(POWERS[20] ?? 0, row & 31));
}
