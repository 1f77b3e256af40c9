import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { errorCode } from "../platform/disk.ts";

/**
 * The only module that prints. Facts go to stdout, everything said to a person about a failure to
 * stderr.
 */

/** For people: whatever in it could act on their terminal is shown instead. */
export function print(text = ""): void {
  printExactly(visible(text));
}

/** What Berth itself makes for a machine, or for a screen in its own colours. */
export function printExactly(text: string): void {
  write(STDOUT, `${text}\n`);
}

/** A text to be carried on: unchanged into a pipe or a file, harmless on a terminal. */
export function printText(text: string): void {
  if (process.stdout.isTTY) print(text);
  else printExactly(text);
}

/** What is made visible in it is an escape of JSON too, so it means the same. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

export function printError(message: string, hint: string): void {
  write(STDERR, `berth: error: ${visible(message)}\n`);
  if (hint !== "") write(STDERR, `berth: hint: ${visible(hint)}\n`);
}

export function printWarning(message: string): void {
  write(STDERR, `berth: warning: ${visible(message)}\n`);
}

/** Asks the person at the terminal; a closed terminal is a no. */
export async function ask(question: string): Promise<boolean> {
  write(STDERR, `berth: ${visible(question)} [y/N] `);
  for await (const line of console) return /^y(?:es)?$/i.test(line.trim());
  return false;
}

/** Asks a person for something nobody else should see. */
export async function askHidden(question: string): Promise<string> {
  write(STDERR, question);
  process.stdin.setRawMode(true);
  try {
    let text = "";
    for await (const chunk of process.stdin) {
      for (const char of String(chunk)) {
        if (char === "\r" || char === "\n") return text;
        // Ctrl-C, Ctrl-D; then backspace.
        if (char === "\u0003" || char === "\u0004") process.exit(1);
        if (char === "\u007f" || char === "\b") text = text.slice(0, -1);
        else text += char;
      }
    }
    return text;
  } finally {
    process.stdin.setRawMode(false);
    write(STDERR, "\n");
  }
}

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
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, Bun.stringWidth(oneLine(cell)));
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => padded(oneLine(cell), widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export const count = (number: number, thing: string): string =>
  `${number} ${thing}${number === 1 ? "" : "s"}`;

const padded = (cell: string, width: number): string =>
  cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));

/**
 * Names and notes come from elsewhere: nothing in them may move the cursor or turn the text round.
 */
const visible = (text: string): string =>
  text.replaceAll(UNSEEN, (char) => (char === "\n" ? char : escaped(char)));

/** A name from elsewhere inside of a line of ours: it must not begin another one. */
export const oneLine = (text: string): string => text.replaceAll(UNSEEN, escaped);

const UNSEEN = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
