import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { errorCode } from "../platform/disk.ts";

/**
 * The only module that prints. Facts go to stdout, everything said to a person about a failure to
 * stderr.
 */

/** For people: whatever in it could act on their terminal is shown instead. */
export function print(text = ""): void {
  printRaw(escapeControls(text));
}

/** What Berth itself makes for a machine, or for a screen in its own colours. */
export function printRaw(text: string): void {
  write(STDOUT, `${text}\n`);
}

/** A text to be carried on: unchanged into a pipe or a file, harmless on a terminal. */
export function printText(text: string): void {
  if (process.stdout.isTTY) print(text);
  else printRaw(text);
}

/** Whole records, each with its CRLF: unchanged into a pipe or a file, one a line on a terminal. */
export function printCsv(records: readonly string[]): void {
  const text = records.join("");
  if (process.stdout.isTTY) print(text.replaceAll("\r\n", "\n").trimEnd());
  else write(STDOUT, text);
}

/** What is made visible in it is an escape of JSON too, so it means the same. */
export function printJson(value: unknown): void {
  hasJson = true;
  print(JSON.stringify(value, null, 2));
}

let hasJson = false;

/**
 * For a program that reads standard output as JSON: there is always one document on it, and the
 * exit code says which of the two.
 */
export function printJsonRefusal(refusal: {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}): void {
  if (hasJson) return;
  const { code, message, hint } = refusal;
  const named = ` (${code})`;
  const words = message.endsWith(named) ? message.slice(0, -named.length) : message;
  printJson({ code, message: words, hint: hint === "" ? null : hint });
}

export function printError(message: string, hint: string): void {
  write(STDERR, `berth: error: ${escapeControls(message)}\n`);
  if (hint !== "") write(STDERR, `berth: hint: ${escapeControls(hint)}\n`);
}

export function printWarning(message: string): void {
  write(STDERR, `berth: warning: ${escapeControls(message)}\n`);
}

/** Something a person should know, beside the facts that may go into a pipe. */
export function printNote(message: string): void {
  write(STDERR, `berth: note: ${escapeToOneLine(message)}\n`);
}

/** Asks the person at the terminal; a closed terminal is a no. */
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
 * Asks the person at the terminal for a secret, without showing it. Null: it was given up with
 * Ctrl-D, or the terminal was closed.
 */
export async function askHidden(question: string): Promise<string | null> {
  // Before the question: whoever answers at once must not be shown on the screen.
  process.stdin.setRawMode(true);
  try {
    write(STDERR, question);
    return await readLine();
  } finally {
    process.stdin.setRawMode(false);
    write(STDERR, "\n");
  }
}

/** What was typed behind an Enter: it answers the next question. */
let typedAhead = "";

/**
 * By listeners that are taken off again: a loop over the stream destroys it at its end, and no
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

/** As they were at the start: a terminal that was closed does not say any more that it was one. */
const terminals = new Set([STDOUT, STDERR].filter((stream) => isatty(stream)));

/** To the end, at once: the process may be about to exit, and a pipe holds only so much. */
function write(stream: number, text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(stream, bytes, written);
    } catch (error) {
      const code = errorCode(error);
      // Nobody reads any more: there is nobody left to tell.
      if (code === "EPIPE" || (code === "EIO" && terminals.has(stream))) return;
      if (code !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/** Columns as wide as their widest cell, the last one as long as it is. */
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
        .map((cell, column) => padded(escapeToOneLine(cell), widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export const formatCount = (number: number, thing: string): string =>
  `${number} ${thing}${number === 1 ? "" : "s"}`;

const padded = (cell: string, width: number): string =>
  cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));

/**
 * Names and notes come from elsewhere: nothing in them may move the cursor or turn the text round.
 */
const escapeControls = (text: string): string =>
  text.replaceAll(UNSEEN, (char) => (char === "\n" ? char : escaped(char)));

/** A name from elsewhere inside of a line of ours: it must not begin another one. */
export const escapeToOneLine = (text: string): string => text.replaceAll(UNSEEN, escaped);

const UNSEEN = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
