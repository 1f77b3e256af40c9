import type { JsonRefusal } from "./json-refusal.ts";
import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { errorCode } from "../../platform/files/system-error.ts";

/**
 * The only module that prints. Results go to stdout; errors, warnings, notes and questions go to
 * stderr.
 */

/** Prints text for people; characters that could control the terminal are shown as escapes. */
export function print(text = ""): void {
  printRaw(escapeControls(text));
}

/** Prints text that Berth itself generated, unchanged: for machines, or with colors. */
function printRaw(text: string): void {
  write(STDOUT, `${text}\n`);
}

/** Prints a document: unchanged into a pipe or a file, escaped on a terminal. */
function printText(text: string): void {
  if (process.stdout.isTTY) print(text);
  else printRaw(text);
}

/** Records that end with CRLF: unchanged into a pipe or a file, one per line on a terminal. */
function printCsv(records: readonly string[]): void {
  const text = records.join("");
  if (process.stdout.isTTY) print(text.replaceAll("\r\n", "\n").trimEnd());
  else write(STDOUT, text);
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
  hasPrintedJson = true;
  print(JSON.stringify(value, null, 2));
}

let hasPrintedJson = false;

/**
 * Prints the error as JSON, unless a result was printed: a program always finds one JSON document
 * on standard output, and the exit code says which of the two it is.
 */
export function printJsonRefusal(refusal: JsonRefusal): void {
  if (!hasPrintedJson) printJson(refusal);
}

export function printError(message: string, hint: string): void {
  write(STDERR, `berth: error: ${escapeControls(message)}\n`);
  if (hint !== "") write(STDERR, `berth: hint: ${escapeControls(hint)}\n`);
}

export function printWarning(message: string): void {
  write(STDERR, `berth: warning: ${escapeControls(message)}\n`);
}

/** Information for the operator that is not part of the result. */
export function printNote(message: string): void {
  write(STDERR, `berth: note: ${escapeToOneLine(message)}\n`);
}

/** Shows on a terminal that long work continues; nothing for the first second. */
export async function withProgress<T>(what: string, work: () => Promise<T>): Promise<T> {
  if (!terminals.has(STDERR)) return work();
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += 1;
    write(STDERR, `\rberth: ${what}: ${seconds} s`);
  }, 1_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (seconds > 0) write(STDERR, `\r${" ".repeat(what.length + 20)}\r`);
  }
}

/** A line on a terminal that is replaced by the next one; elsewhere each text has its own line. */
export class StatusLine {
  readonly isOnTerminal = terminals.has(STDERR);
  #width = 0;

  show(text: string): void {
    if (!this.isOnTerminal) return printNote(text);
    const columns = process.stderr.columns || DEFAULT_COLUMNS;
    const line = Array.from(`berth: ${escapeToOneLine(text)}`)
      .slice(0, columns - 1)
      .join("");
    const width = Bun.stringWidth(line);
    write(STDERR, `\r${line}${" ".repeat(Math.max(0, this.#width - width))}`);
    this.#width = width;
  }

  clear(): void {
    if (this.#width > 0) write(STDERR, `\r${" ".repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

const DEFAULT_COLUMNS = 80;

/** Asks on the terminal; a closed terminal counts as no. */
export async function askYesNo(question: string): Promise<boolean> {
  write(STDERR, `berth: ${escapeControls(question)} [y/N] `);
  return /^y(?:es)?$/i.test(((await readLine()) ?? "").trim());
}

/** Ctrl-C where the terminal does not turn it into a signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly hint = "";

  constructor() {
    super("interrupted; nothing was changed");
  }
}

/**
 * Asks on the terminal for a secret, without showing it. Null: cancelled with Ctrl-D, or the
 * terminal was closed.
 */
export async function askHidden(question: string): Promise<string | null> {
  // Before the question, so that a fast answer is not echoed.
  process.stdin.setRawMode(true);
  try {
    write(STDERR, question);
    return await readLine();
  } finally {
    process.stdin.setRawMode(false);
    write(STDERR, "\n");
  }
}

/** Input after an Enter: it answers the next question. */
let typedAhead = "";

/**
 * Uses listeners and removes them again: a loop over the stream would destroy it at its end, and no
 * second question could be asked.
 */
function readLine(): Promise<string | null> {
  const { stdin } = process;
  return new Promise((resolve, reject) => {
    let line = "";
    const stop = (rest: string): void => {
      typedAhead = rest;
      stdin.off("data", onData).off("end", onEnd).pause();
    };
    const finish = (answer: string | null, rest = ""): void => {
      stop(rest);
      resolve(answer);
    };
    const onEnd = (): void => finish(null);
    const onData = (chunk: Buffer | string): void => {
      const text = String(chunk);
      for (let at = 0; at < text.length; at += 1) {
        const character = text.charAt(at);
        if (ENTER.has(character)) return finish(line, text.slice(at + 1));
        if (character === END_OF_INPUT) return finish(null);
        if (character === INTERRUPT) {
          stop("");
          return reject(new Interrupted());
        }
        if (character === CLEAR_LINE) line = "";
        else line = BACKSPACE.has(character) ? line.replace(/.$/su, "") : line + character;
      }
    };
    stdin.setEncoding("utf8");
    stdin.on("data", onData).on("end", onEnd).resume();
    if (typedAhead !== "") onData(typedAhead);
  });
}

const ENTER = new Set(["\r", "\n"]);
/** Ctrl-C, Ctrl-D and Ctrl-U. */
const INTERRUPT = "\u0003";
const END_OF_INPUT = "\u0004";
const CLEAR_LINE = "\u0015";
const BACKSPACE = new Set(["\u007f", "\b"]);

const STDOUT = 1;
const STDERR = 2;

/** Determined at the start: a closed terminal no longer reports that it is a terminal. */
const terminals = new Set([STDOUT, STDERR].filter((stream) => isatty(stream)));

/** Writes everything synchronously: the process may exit next, and a pipe has a limited buffer. */
function write(stream: number, text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(stream, bytes, written);
    } catch (error) {
      const code = errorCode(error);
      // The reader has gone, so there is no one to report the error to.
      if (code === "EPIPE" || (code === "EIO" && terminals.has(stream))) return;
      if (code !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

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
