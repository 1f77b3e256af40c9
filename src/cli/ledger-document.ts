import { Failure, type FlagValues } from "./command.ts";
import { describeError } from "./error-report.ts";
import { outputDocument } from "./output-document.ts";

/** A document that the desk has on its ledger before it is written anywhere. */
interface LedgerDocument {
  /** Printed with the name of the file. */
  readonly description: string;
  /** Names what is on the ledger if it could not be written. */
  readonly entryName: string;
  /** Tells how to get it again. */
  readonly retryHint: string;
}

/** Hands a document over; if that fails, the error says that it is on the ledger all the same. */
export async function outputLedgerDocument(
  given: FlagValues,
  document: string,
  { description, entryName, retryHint }: LedgerDocument,
): Promise<void> {
  try {
    await outputDocument(given, document, description);
  } catch (error) {
    const { message, code } = describeError(error).refusal;
    throw new Failure(`${message}; ${entryName} is in the ledger`, retryHint, code);
  }
}
