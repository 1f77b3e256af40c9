import { KIND_NAMES } from "../license/kind-names.ts";
import { readHeader, type Kind } from "../license/document.ts";
import { realDisk } from "../platform/disk.ts";
import { Misuse } from "../platform/options.ts";
import { Failure, stringOf, type Given } from "./command.ts";
import { describeError } from "./error-report.ts";
import { checkOut, handOver } from "./handing-over.ts";

/** Documents that the desk has on its ledger before they are written anywhere. */

/**
 * Before anything is signed: an earlier document of the same kind may be replaced, as a license by
 * its renewal, and one of another kind is not what anybody meant to replace.
 */
export function checkOutFor(given: Given, kind: Kind): void {
  checkOut(given);
  const out = stringOf(given, "out");
  const bytes = out === null ? null : realDisk.read(out);
  const header = readHeader(new TextDecoder().decode(bytes ?? new Uint8Array()).trim());
  if (!header.ok || header.value.kind === kind) return;
  throw new Misuse(
    `${out} is there already and is ${KIND_NAMES[header.value.kind]}, not ${KIND_NAMES[kind]}`,
    "choose another --out",
  );
}

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
    throw new Failure(`${message}; ${named} is on the ledger`, again, code);
  }
}
