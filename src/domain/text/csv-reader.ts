import { err, ok, type Result } from "../result.ts";

export interface CsvRow {
  /** Of its first line in the file, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface CsvFault {
  readonly line: number;
  readonly problem: string;
}

const BYTE_ORDER_MARK = "\ufeff";

/**
 * Reads CSV as spreadsheets write it: fields in quotes or without, separated by commas, or by
 * semicolons if the first line has more of them; LF or CRLF; with or without a byte order mark.
 * Empty lines are skipped. The quotes with which `csvRecord` hides formulas are removed.
 */
export function readCsv(text: string): Result<CsvRow[], CsvFault> {
  const source = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  const separator = findSeparator(source);
  const rows: CsvRow[] = [];
  let position = 0;
  let line = 1;
  while (position < source.length) {
    const start = line;
    const cells: string[] = [];
    for (;;) {
      const isQuoted = source[position] === '"';
      const end = isQuoted
        ? findQuotedEnd(source, position)
        : findPlainEnd(source, position, separator);
      if (end === null) return err({ line: start, problem: "a quote is not closed" });
      const raw = source.slice(position, end);
      line += countLines(raw);
      cells.push(showFormula(isQuoted ? raw.slice(1, -1).replaceAll('""', '"') : raw));
      position = end;
      if (source[position] !== separator) break;
      position += 1;
    }
    if (source[position] === "\r") position += 1;
    if (position < source.length && source[position] !== "\n")
      return err({ line, problem: "text follows a closing quote" });
    position += 1;
    line += 1;
    if (cells.some((cell) => cell.trim() !== "")) rows.push({ line: start, cells });
  }
  return ok(rows);
}

function findSeparator(source: string): "," | ";" {
  const [first = ""] = source.split("\n", 1);
  return first.split(";").length > first.split(",").length ? ";" : ",";
}

/** After the closing quote; null: there is none. */
function findQuotedEnd(source: string, start: number): number | null {
  let end = start + 1;
  for (;;) {
    end = source.indexOf('"', end);
    if (end < 0) return null;
    if (source[end + 1] !== '"') return end + 1;
    end += 2;
  }
}

function findPlainEnd(source: string, start: number, separator: string): number {
  let end = start;
  while (end < source.length && source[end] !== separator && source[end] !== "\n") end += 1;
  return end > start && source[end - 1] === "\r" && source[end] === "\n" ? end - 1 : end;
}

const countLines = (text: string): number => text.split("\n").length - 1;

const HIDDEN_FORMULA = /(^|[;\t\r\n])'(?=[^\S\t\r\n]*[=+\-@\t\r＝＋－＠])/g;

const showFormula = (cell: string): string => cell.replaceAll(HIDDEN_FORMULA, "$1");
