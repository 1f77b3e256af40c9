import { Failure, type Given } from "./command.ts";
import { describeError } from "./error-report.ts";
import { handOver } from "./handing-over.ts";

/** A document that the desk has on its ledger before it is written anywhere. */
interface Recorded {
  /** Printed with the name of the file. */
  readonly what: string;
  /** Names what is on the ledger if it could not be written. */
  readonly named: string;
  /** Tells how to get it again. */
  readonly again: string;
}

/** Hands a document over; if that fails, the error says that it is on the ledger all the same. */
export async function handOverRecorded(
  given: Given,
  document: string,
  { what, named, again }: Recorded,
): Promise<void> {
  try {
    await handOver(given, document, what);
  } catch (error) {
    const { message, code } = describeError(error).refusal;
    throw new Failure(`${message}; ${named} is in the ledger`, again, code);
  }
}
