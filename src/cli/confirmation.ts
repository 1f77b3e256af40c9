import { Misuse } from "../platform/options.ts";
import { isSet, type Given } from "./command.ts";
import { ask } from "./terminal.ts";

/** Before anything is done: where nobody can be asked, `--yes` has to say it. */
export function checkConfirmable(given: Given): void {
  if (isSet(given, "yes") || process.stdin.isTTY) return;
  throw new Misuse(
    "nothing was done: without a terminal there is nobody to ask",
    "--yes goes on without asking",
  );
}

/** Whether to go on; asked on a terminal unless `--yes` was given. */
export async function isConfirmed(given: Given, question: string): Promise<boolean> {
  checkConfirmable(given);
  return isSet(given, "yes") || ask(question);
}
