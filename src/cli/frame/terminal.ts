import { AsyncLocalStorage } from "node:async_hooks";
import type { JsonRefusal } from "./json-refusal.ts";
import { processTerminal, type Output, type Terminal } from "./process-terminal.ts";

/**
 * How commands print and ask. Results go to stdout; errors, warnings, notes and questions go to
 * stderr.
 */

/** Prints text for people; characters that could control the terminal are shown as escapes. */
export function print(text = ""): void {
  printRaw(escapeControls(text));
}

/** Prints text that Berth itself generated, unchanged: for machines, or with colors. */
function printRaw(text: string): void {
  write("stdout", `${text}\n`);
}

/** Prints a document: unchanged into a pipe or a file, escaped on a terminal. */
function printText(text: string): void {
  if (isTerminal("stdout")) print(text);
  else printRaw(text);
}

/** Records that end with CRLF: unchanged into a pipe or a file, one per line on a terminal. */
function printCsv(records: readonly string[]): void {
  const text = records.join("");
  if (isTerminal("stdout")) print(text.replaceAll("\r\n", "\n").trimEnd());
  else write("stdout", text);
}

/** What a command prints for people: one part, or several from top to bottom. */
export type Text = TextPart | readonly TextPart[];

/** A plain string is printed with `print`, the others with the function of the same name. */
export type TextPart =
  | string
  | { readonly raw: string }
  | { readonly document: string }
  | { readonly csv: readonly string[] };

export function printParts(text: Text): void {
  for (const part of [text].flat()) {
    if (typeof part === "string") print(part);
    else if ("raw" in part) printRaw(part.raw);
    else if ("document" in part) printText(part.document);
    else printCsv(part.csv);
  }
}

/** The escapes that `print` adds are also JSON escapes, so the value does not change. */
export function printJson(value: unknown): void {
  current().hasPrintedJson = true;
  print(JSON.stringify(value, null, 2));
}

/**
 * Prints the error as JSON, unless a result was printed: a program always finds one JSON document
 * on standard output, and the exit code says which of the two it is.
 */
export function printJsonRefusal(refusal: JsonRefusal): void {
  if (!current().hasPrintedJson) printJson(refusal);
}

export function printError(message: string, hint: string): void {
  write("stderr", `berth: error: ${escapeControls(message)}\n`);
  if (hint !== "") write("stderr", `berth: hint: ${escapeControls(hint)}\n`);
}

export function printWarning(message: string): void {
  write("stderr", `berth: warning: ${escapeControls(message)}\n`);
}

/** Information for the operator that is not part of the result. */
export function printNote(message: string): void {
  write("stderr", `berth: note: ${escapeToOneLine(message)}\n`);
}

/** Lines that belong to the note above them. */
export function printDetails(lines: readonly string[]): void {
  for (const line of lines) write("stderr", `  ${escapeToOneLine(line)}\n`);
}

/** Tells the process that started this one how much of the work is done, from 0 to 1. */
export const printShare = (share: number): void => write("stderr", `${share.toFixed(3)}\n`);

/**
 * Shows on a terminal that long work continues; nothing for the first second. `describe` says more
 * about it, once a second.
 */
export async function withProgress<T>(
  what: string,
  work: () => Promise<T>,
  describe: () => Promise<string> = async () => "",
): Promise<T> {
  if (!isTerminal("stderr")) return work();
  const line = new StatusLine();
  let seconds = 0;
  let isOver = false;
  const show = async (): Promise<void> => {
    seconds += 1;
    const more = await describe();
    if (!isOver) line.show(`${what}: ${seconds} s${more}`);
  };
  const timer = setInterval(() => void show(), 1_000);
  try {
    return await work();
  } finally {
    isOver = true;
    clearInterval(timer);
    line.clear();
  }
}

/** A line on a terminal that is replaced by the next one; elsewhere each text has its own line. */
export class StatusLine {
  readonly isOnTerminal = isTerminal("stderr");
  #width = 0;

  show(text: string): void {
    if (!this.isOnTerminal) return printNote(text);
    const columns = current().terminal.columns;
    const line = Array.from(`berth: ${escapeToOneLine(text)}`)
      .slice(0, columns - 1)
      .join("");
    const width = Bun.stringWidth(line);
    write("stderr", `\r${line}${" ".repeat(Math.max(0, this.#width - width))}`);
    this.#width = width;
  }

  clear(): void {
    if (this.#width > 0) write("stderr", `\r${" ".repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

/** Asks on the terminal; a closed terminal counts as no. */
export async function askYesNo(question: string): Promise<boolean> {
  write("stderr", `berth: ${escapeControls(question)} [y/N] `);
  return /^y(?:es)?$/i.test(((await current().terminal.readLine("shown")) ?? "").trim());
}

/**
 * Asks on the terminal for a secret, without showing it. Null: cancelled with Ctrl-D, or the
 * terminal was closed.
 */
export const askHidden = (question: string): Promise<string | null> =>
  current().terminal.readLine("hidden", question);

/** Whether a question can be answered: standard input is a terminal. */
export const canAsk = (): boolean => current().terminal.isTerminal("stdin");

/** Reads from standard input, as much as is there; 0 at its end. */
export const readStandardInput = (bytes: Uint8Array, offset: number): number =>
  current().terminal.read(bytes, offset);

/** One command line that runs, and the streams that it has. */
interface Run {
  readonly terminal: Terminal;
  hasPrintedJson: boolean;
}

/** The executable runs one command line. Several in one process have a terminal each. */
const ofProcess: Run = { terminal: processTerminal, hasPrintedJson: false };
const runs = new AsyncLocalStorage<Run>();
const current = (): Run => runs.getStore() ?? ofProcess;

/** Commands that `work` runs print to this terminal, and read from it. */
export const withTerminal = <T>(terminal: Terminal, work: () => T): T =>
  runs.run({ terminal, hasPrintedJson: false }, work);

const write = (stream: Output, text: string): void => current().terminal.write(stream, text);

const isTerminal = (stream: Output): boolean => current().terminal.isTerminal(stream);

/** Aligns the columns; each is as wide as its widest cell. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, Bun.stringWidth(escapeToOneLine(cell)));
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => padCell(escapeToOneLine(cell), widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The cells of a row by the titles of their columns, in any case; null: nothing to show. */
export type Row = Readonly<Record<string, string | number | null>>;

/** A list under the titles of its columns; `empty` if it has no rows. */
export function formatList(rows: readonly Row[], empty = ""): string {
  const [first] = rows;
  if (first === undefined) return empty;
  const header = Object.keys(first).map((title) => title.toUpperCase());
  return formatTable([
    header,
    ...rows.map((row) => Object.values(row).map((cell) => String(cell ?? "-"))),
  ]);
}

export const formatCount = (number: number, thing: string): string =>
  `${number} ${thing}${number === 1 ? "" : "s"}`;

const padCell = (cell: string, width: number): string =>
  cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));

/** Names and notes are foreign text: they must not move the cursor or reverse the direction. */
const escapeControls = (text: string): string =>
  text.replaceAll(INVISIBLE, (char) => (char === "\n" ? char : escapeCharacter(char)));

/** For foreign text within a line: also escapes line breaks, so that it cannot start a new line. */
export const escapeToOneLine = (text: string): string =>
  text.replaceAll(INVISIBLE, escapeCharacter);

const INVISIBLE = /[\p{Cc}\p{DI}\u2028\u2029]/gu;

/** Both halves of a surrogate pair, as in JSON. */
const escapeCharacter = (char: string): string =>
  Array.from(
    { length: char.length },
    (_, index) => `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
