import {
  canonicalizeCode,
  checkCodeRows,
  groupSymbols,
  codeRowSizes,
} from "../../../license/code.ts";

/** Rows of a code as they are typed, and the one to go on in. */
export interface CodeInput {
  readonly rows: readonly string[];
  readonly at: number;
}

export const emptyRows = (bits: number): readonly string[] => codeRowSizes(bits).map(() => "");

export const countSymbols = (text: string): number => Array.from(canonicalizeCode(text)).length;

/**
 * What a row's line holds now. Behind its last symbol it is put into groups; elsewhere it stays as
 * it is, so that the caret does. What is too much for a row goes on into the next one, unless that
 * would push away what is there already.
 */
export function typeIntoRow(
  rows: readonly string[],
  row: number,
  value: string,
  bits: number,
  atEnd: boolean,
): CodeInput {
  if (!atEnd) return { rows: rows.with(row, value), at: row };
  const symbols = Array.from(canonicalizeCode(value));
  const size = codeRowSizes(bits)[row] ?? 0;
  const rest = symbols.slice(size);
  const next = rows[row + 1];
  const flows = rest.length > 0 && next === "";
  const kept = flows ? symbols.slice(0, size) : symbols;
  const now = rows.with(row, groupSymbols(kept.join("")));
  if (flows) return typeIntoRow(now, row + 1, rest.join(""), bits, true);
  const marks = checkCodeRows(now, bits);
  // A row that is done leads to the next one that is not.
  const leads =
    marks[row] === "right" && marks[row + 1] !== undefined && marks[row + 1] !== "right";
  return { rows: now, at: leads ? row + 1 : row };
}

/**
 * A copied text: all of a code wherever it is pasted, else from this row on. Null: not more than a
 * row, which the browser pastes as ever.
 */
export function pasteCode(
  rows: readonly string[],
  row: number,
  text: string,
  bits: number,
): CodeInput | null {
  const sizes = codeRowSizes(bits);
  const count = countSymbols(text);
  if (count <= (sizes[row] ?? 0)) return null;
  const whole = count >= sizes.reduce((sum, size) => sum + size, 0);
  const from = whole ? 0 : row;
  const freed = rows.map((value, index) => (index < from ? value : ""));
  return typeIntoRow(freed, from, text, bits, true);
}
