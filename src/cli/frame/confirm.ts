import { Misuse } from "./options.ts";
import { Failure } from "./command.ts";
import { askYesNo, canAsk } from "./terminal.ts";

interface ConfirmOptions {
  /** The flag `--yes`: the operator agrees to everything. */
  readonly yes: boolean;
}

/**
 * Called before anything is done: without a terminal, `--yes` is required. Data that happens to be
 * on standard input must not count as an answer.
 */
export function checkConfirmable({ yes }: ConfirmOptions, question = ""): void {
  if (yes || canAsk()) return;
  throw new Misuse(
    `nothing was done: confirmation is required and there is no terminal${question && ` (${question})`}`,
    "add --yes to continue without confirmation",
  );
}

/** Returns only if the operator agreed: with `--yes`, or by an answer on a terminal. */
export async function confirm(options: ConfirmOptions, question: string, hint = ""): Promise<void> {
  checkConfirmable(options, question);
  if (options.yes || (await askYesNo(question))) return;
  throw new Failure("nothing was changed", hint);
}
