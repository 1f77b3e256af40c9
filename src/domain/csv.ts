/** One record as RFC 4180 has it: commas, CRLF, and quotes where they are needed. */
export const csvRecord = (cells: readonly string[]): string => `${cells.map(field).join(",")}\r\n`;

/**
 * A spreadsheet takes a cell that begins like this for a formula and may run it, and many of the
 * texts come from elsewhere: a single quote before it makes it text, and is part of the field from
 * then on. In many countries cells end with a semicolon, so what follows one may begin a cell as
 * well.
 */
const FORMULA = /(^|[;\t\r\n])(?=[=+\-@\t\r])/g;

function field(value: string): string {
  const text = value.replaceAll(FORMULA, "$1'");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
