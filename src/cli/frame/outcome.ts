import { EXIT_OK } from "./command.ts";
import {
  printError,
  printJson,
  printNote,
  printParts,
  printWarning,
  type Text,
} from "./terminal.ts";

/** The result of a command that prints no JSON. */
export interface TextOutcome {
  /** For people. A function is called only if the text is printed, and may write a file first. */
  readonly text: Text | (() => Text | Promise<Text>);
  /** Printed before the result, on standard error. */
  readonly warnings?: readonly string[];
  /** Printed before the result, on standard error. */
  readonly notes?: readonly string[];
  /** What the result shows to be wrong: printed after it, on standard error. */
  readonly errors?: readonly string[];
  /** If absent, `EXIT_OK`. */
  readonly exitCode?: number;
}

/** The result of a command that has the flag `--json`. */
export interface JsonOutcome extends TextOutcome {
  readonly json: unknown;
  /** It has a result, but failed: prints the JSON, and this error instead of the text. */
  readonly failure?: Error | null;
}

/** Prints the result of a command and returns its exit code. */
export async function printOutcome(
  outcome: TextOutcome | JsonOutcome,
  isJson: boolean,
): Promise<number> {
  const { text, warnings = [], notes = [], errors = [], exitCode = EXIT_OK } = outcome;
  const failure = "failure" in outcome ? (outcome.failure ?? null) : null;
  for (const warning of warnings) printWarning(warning);
  for (const note of notes) printNote(note);
  if (isJson && "json" in outcome) printJson(outcome.json);
  else if (failure === null) printParts(typeof text === "function" ? await text() : text);
  for (const error of errors) printError(error, "");
  if (failure !== null) throw failure;
  return exitCode;
}
