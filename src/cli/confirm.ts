import { Misuse } from "../platform/options.ts";
import { Failure, isFlagSet, type FlagValues } from "./command.ts";
import { askYesNo } from "./terminal.ts";

/**
 * Before anything is done: where nobody can be asked, `--yes` has to say it. What happens to stand
 * on standard input is no person's answer.
 */
export function checkConfirmable(given: FlagValues, question = ""): void {
  if (isFlagSet(given, "yes") || process.stdin.isTTY) return;
  throw new Misuse(
    `nothing was done: confirmation is required and there is no terminal${question && ` (${question})`}`,
    "add --yes to continue without confirmation",
  );
}

/** Goes on only after a person agreed: by `--yes`, or by an answer on a terminal. */
export async function confirm(given: FlagValues, question: string, hint = ""): Promise<void> {
  checkConfirmable(given, question);
  if (isFlagSet(given, "yes") || (await askYesNo(question))) return;
  throw new Failure("nothing was changed", hint);
}
