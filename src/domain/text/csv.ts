/** One record as in RFC 4180: commas, CRLF, and quotes where they are needed. */
export const csvRecord = (cells: readonly string[]): string =>
  `${cells.map(quoteField).join(",")}\r\n`;

type Cell = string | number | null | undefined;

/** Rows as records with these members, after a record of their names. */
export const csvRecords = <K extends string>(
  columns: readonly K[],
  rows: readonly { readonly [C in K]?: Cell }[],
): string[] =>
  [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? "")))].map(
    csvRecord,
  );

/**
 * A spreadsheet treats a cell that begins like this as a formula and may run it, and many of the
 * texts come from callers. A single quote before it makes it text and becomes part of the field. In
 * many countries a semicolon separates cells, so text after a semicolon may begin a cell too.
 * Spreadsheets skip spaces of every kind before the sign, and read its full-width form as well.
 */
const FORMULA = /(^|[;\t\r\n])([^\S\t\r\n]*)(?=[=+\-@\t\r＝＋－＠])/g;

function quoteField(value: string): string {
  const text = value.replaceAll(FORMULA, "$1'$2");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
