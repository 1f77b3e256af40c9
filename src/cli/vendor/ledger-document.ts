import { Failure } from "../frame/command.ts";
import { describeError } from "../frame/error-report.ts";
import type { TextPart } from "../frame/terminal.ts";
import { outputDocument, type OutputOptions } from "../files/output-document.ts";

/** A document that is recorded in the desk's ledger before it is written to a file. */
interface LedgerDocument {
  /** Printed with the name of the file. */
  readonly description: string;
  /** Name of the ledger entry, for the error if the document cannot be written. */
  readonly entryName: string;
  /** How to write the document again. */
  readonly retryHint: string;
}

/** Outputs a document; if that fails, the error says that it is in the ledger nevertheless. */
export async function outputLedgerDocument(
  options: OutputOptions,
  document: string,
  { description, entryName, retryHint }: LedgerDocument,
): Promise<TextPart[]> {
  try {
    return await outputDocument(options, document, description);
  } catch (error) {
    const { message, code } = describeError(error).refusal;
    throw new Failure(`${message}; ${entryName} is in the ledger`, retryHint, code);
  }
}
