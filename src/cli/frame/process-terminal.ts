import { readSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { errorCode } from "../../platform/files/system-error.ts";

export type Output = "stdout" | "stderr";

/** What a command prints to and reads from: the streams of the process, or those of a caller. */
export interface Terminal {
  /** Whether a person reads the stream, or types into it. */
  readonly isTerminal: (stream: Output | "stdin") => boolean;
  /** The width of the terminal. */
  readonly columns: number;
  readonly write: (stream: Output, text: string) => void;
  /** Reads from standard input into the bytes, from this place; 0 at its end. */
  readonly read: (bytes: Uint8Array, offset: number) => number;
  /** The next line that a person types; null: there is none. A question precedes a secret. */
  readonly readLine: (echo: "shown" | "hidden", question?: string) => Promise<string | null>;
}

const NUMBERS = { stdin: 0, stdout: 1, stderr: 2 } as const;
const DEFAULT_COLUMNS = 80;

/** The streams of this process. */
export const processTerminal: Terminal = {
  isTerminal: (stream) => terminals.has(stream),
  get columns() {
    return process.stderr.columns || DEFAULT_COLUMNS;
  },
  write,
  read: (bytes, offset) => readSync(0, bytes, offset, bytes.length - offset, null),
  readLine: (echo, question = "") => (echo === "hidden" ? readHidden(question) : readLine()),
};

/** Determined at the start: a closed terminal no longer reports that it is a terminal. */
const terminals = new Set(
  (["stdin", "stdout", "stderr"] as const).filter((stream) => isatty(NUMBERS[stream])),
);

/** Writes everything synchronously: the process may exit next, and a pipe has a limited buffer. */
function write(stream: Output, text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(NUMBERS[stream], bytes, written);
    } catch (error) {
      const code = errorCode(error);
      // The reader has gone, so there is no one to report the error to.
      if (code === "EPIPE" || (code === "EIO" && terminals.has(stream))) return;
      if (code !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/** Ctrl-C where the terminal does not turn it into a signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly hint = "";

  constructor() {
    super("interrupted; nothing was changed");
  }
}

async function readHidden(question: string): Promise<string | null> {
  // Before the question, so that a fast answer is not echoed.
  process.stdin.setRawMode(true);
  try {
    write("stderr", question);
    return await readLine();
  } finally {
    process.stdin.setRawMode(false);
    write("stderr", "\n");
  }
}

/** Input after an Enter: it answers the next question. */
let typedAhead = "";

/**
 * Uses listeners and removes them again: a loop over the stream would destroy it at its end, and no
 * second question could be answered.
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
