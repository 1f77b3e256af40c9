import { Misuse } from "../platform/options.ts";
import { Failure, isSet, type Given } from "./command.ts";
import { ask } from "./terminal.ts";

/**
 * Before anything is done: where nobody can be asked, `--yes` has to say it. What happens to stand
 * on standard input is no person's answer.
 */
export function checkConfirmable(given: Given, question = ""): void {
  if (isSet(given, "yes") || process.stdin.isTTY) return;
  throw new Misuse(
    `nothing was done: confirmation is required and there is no terminal${question && ` (${question})`}`,
    "add --yes to continue without confirmation",
  );
}

/** Goes on only after a person agreed: by `--yes`, or by an answer on a terminal. */
export async function confirm(given: Given, question: string, hint = ""): Promise<void> {
  checkConfirmable(given, question);
  if (isSet(given, "yes") || (await ask(question))) return;
  throw new Failure("nothing was changed", hint);
}
