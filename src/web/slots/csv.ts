import type { Row } from "./rows.ts";

const HEADER = [
  "product",
  "license_id",
  "user",
  "os_hostname",
  "ip_local",
  "peer",
  "registered_at",
  "expires_at",
  "borrowed_until",
  "features",
  "user_info",
] as const;

/** As RFC 4180 has it: commas, CRLF, and quotes where they are needed. */
export const csvOf = (rows: readonly Row[]): string =>
  [HEADER, ...rows.map(cellsOf)].map((cells) => `${cells.map(field).join(",")}\r\n`).join("");

const cellsOf = ({ held }: Row): readonly string[] =>
  HEADER.map((name) => {
    const value = held[name];
    return Array.isArray(value) ? value.join(" ") : String(value ?? "");
  });

/**
 * A spreadsheet takes a cell that begins like this for a formula and may run it, and users choose
 * their own names: a single quote before it makes it text, and is part of the field from then on.
 * In many countries cells end with a semicolon, so what follows one may begin a cell as well.
 */
const FORMULA = /(^|[;\t\r\n])(?=[=+\-@\t\r])/g;

function field(value: string): string {
  const text = value.replaceAll(FORMULA, "$1'");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
