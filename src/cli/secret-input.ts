import { readFileSync } from "node:fs";
import { Misuse } from "../platform/options.ts";
import { Failure } from "./command.ts";
import { askHidden } from "./terminal.ts";

/** From a person twice, unseen; from a pipe its first line. Never from the command line. */
export async function readPassword(): Promise<string> {
  if (process.stdin.isTTY) return askTwice("password");
  const [line = ""] = readFileSync(0, "utf8").split(/\r?\n/);
  if (line === "") throw new Misuse("no password came in", "send it as one line");
  return line;
}

/** A new secret, typed twice by the person at the terminal. */
export async function askTwice(what: string): Promise<string> {
  const first = await askSecret(what, `${what}: `);
  if (first === "") throw new Failure(`no ${what} was typed; nothing was changed`, "");
  if ((await askSecret(what, `${what} again: `)) !== first) {
    throw new Failure(`the two are not the same; nothing was changed`, "run it again");
  }
  return first;
}

/** A secret that exists already, typed once. */
export async function askSecret(what: string, question = `${what}: `): Promise<string> {
  const typed = await askHidden(question);
  if (typed === null) throw new Failure(`no ${what} was typed; nothing was changed`, "");
  return typed;
}
