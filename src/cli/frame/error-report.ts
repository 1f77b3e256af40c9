import { findFolderError } from "../../operations/folder/folder-error.ts";
import { Misuse } from "./options.ts";
import { DeskFormatRefused, DeskRefused } from "../../desk/desk-refused.ts";
import {
  EXIT_FAILURE,
  Failure,
  ServerRefused,
  EXIT_INTERRUPTED,
  EXIT_USAGE,
  EXIT_NEEDS_OPERATOR,
} from "./command.ts";
import type { JsonRefusal } from "./json-refusal.ts";
import { describeUnexpected, systemCode } from "./system-errors.ts";
import { Interrupted } from "./process-terminal.ts";

/** Why a command was refused or failed. */
export interface Refusal {
  /** The server's or the kernel's error code if one of them refused; else of the error's class. */
  readonly code: string;
  /** With the code, if the server or the kernel refused. */
  readonly message: string;
  /** The message without the code. */
  readonly statement: string;
  readonly hint: string;
}

interface ErrorReport {
  readonly refusal: Refusal;
  readonly exitCode: number;
}

/** The first class that matches counts, so a class must come before the class it extends. */
const ERROR_CLASSES = [
  [Misuse, "misuse", EXIT_USAGE],
  [Failure, "failed", EXIT_FAILURE],
  [Interrupted, "interrupted", EXIT_INTERRUPTED],
  [DeskFormatRefused, "desk_refused", EXIT_NEEDS_OPERATOR],
  [DeskRefused, "desk_refused", EXIT_FAILURE],
] as const;

/** Converts what a command threw into a message, an error code and an exit code. */
export function describeError(error: unknown): ErrorReport {
  for (const [errorClass, classCode, classExitCode] of ERROR_CLASSES) {
    if (!(error instanceof errorClass)) continue;
    const code = error instanceof Failure ? (error.code ?? classCode) : classCode;
    const exitCode = error instanceof Failure ? error.exitCode : classExitCode;
    const { message, hint } = error;
    const statement = error instanceof ServerRefused ? error.statement : message;
    return { refusal: { code, message, statement, hint }, exitCode };
  }
  const folderError = findFolderError(error);
  if (folderError !== null) {
    const { code, message, hint, needsOperator } = folderError;
    const exitCode = needsOperator ? EXIT_NEEDS_OPERATOR : EXIT_FAILURE;
    return { refusal: { code, message, statement: message, hint }, exitCode };
  }
  const code = systemCode(error) ?? "internal_error";
  return { refusal: { code, ...describeUnexpected(error) }, exitCode: EXIT_FAILURE };
}

export const toJsonRefusal = ({ code, statement, hint }: Refusal): JsonRefusal => ({
  code,
  message: statement,
  hint: hint === "" ? null : hint,
});
