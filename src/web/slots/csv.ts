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
 * A spreadsheet takes what begins like this for a formula and may run it, and users choose their
 * own names: a single quote before it makes it text. The quote is part of the field from then on.
 */
const FORMULA = /^[=+\-@\t\r]/;

function field(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
