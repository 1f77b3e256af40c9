import { Misuse } from "../platform/options.ts";
import { isSet, type Given } from "./command.ts";
import { ask } from "./terminal.ts";

/**
 * Whether a person agrees: by `--yes`, or by an answer on a terminal. Where nobody can be asked,
 * nothing is done: what happens to stand on standard input is no person's answer.
 */
export async function confirm(given: Given, question: string): Promise<boolean> {
  if (isSet(given, "yes")) return true;
  if (process.stdin.isTTY) return ask(question);
  throw new Misuse(
    "nothing was done: there is no terminal to confirm it on",
    "add --yes to go on without being asked",
  );
}
