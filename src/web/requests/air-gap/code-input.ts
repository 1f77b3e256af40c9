import {
  canonicalizeCode,
  checkCodeRows,
  groupSymbols,
  codeRowSizes,
} from "../../../license/codes/code.ts";

/** The rows of a code as typed, and the row that gets the focus next. */
export interface CodeInput {
  readonly rows: readonly string[];
  readonly at: number;
}

export const emptyRows = (bits: number): readonly string[] => codeRowSizes(bits).map(() => "");

export const countSymbols = (text: string): number => Array.from(canonicalizeCode(text)).length;

/**
 * The rows after the user typed into one. If the caret is at the end, the row is put into groups;
 * otherwise it stays as typed, so that the caret does not move. Symbols that do not fit continue in
 * the next row, if that row is empty.
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
  const overflows = rest.length > 0 && next === "";
  const rowSymbols = overflows ? symbols.slice(0, size) : symbols;
  const newRows = rows.with(row, groupSymbols(rowSymbols.join("")));
  if (overflows) return typeIntoRow(newRows, row + 1, rest.join(""), bits, true);
  const statuses = checkCodeRows(newRows, bits);
  // A correct row moves the focus to the next row, unless that one is correct already.
  const movesOn =
    statuses[row] === "right" && statuses[row + 1] !== undefined && statuses[row + 1] !== "right";
  return { rows: newRows, at: movesOn ? row + 1 : row };
}

/**
 * The rows after a paste. A complete code replaces all rows; several rows start at this row. Null:
 * the text fits into one row, and the browser pastes it.
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
  const isComplete = count >= sizes.reduce((sum, size) => sum + size, 0);
  const from = isComplete ? 0 : row;
  const cleared = rows.map((value, index) => (index < from ? value : ""));
  return typeIntoRow(cleared, from, text, bits, true);
}
