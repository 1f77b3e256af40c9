import { Misuse } from "../platform/options.ts";
import { isSet, type Given } from "./command.ts";
import { ask } from "./terminal.ts";

/**
 * Before anything is done: where nobody can be asked, `--yes` has to say it. What happens to stand
 * on standard input is no person's answer.
 */
export function checkConfirmable(given: Given): void {
  if (isSet(given, "yes") || process.stdin.isTTY) return;
  throw new Misuse(
    "nothing was done: there is no terminal to confirm it on",
    "add --yes to go on without being asked",
  );
}

/** Whether a person agrees: by `--yes`, or by an answer on a terminal. */
export async function confirm(given: Given, question: string): Promise<boolean> {
  checkConfirmable(given);
  return isSet(given, "yes") || ask(question);
}
