import type { IssuedEntry, ReceiptEntry } from "../ledger/ledger-entries.ts";

/**
 * Finds the receipt that ends this serial at its site; undefined: there is none. All entries are of
 * one license at one appliance. A site that returned a license installs a newer serial only in
 * answer to a request: a renewal from the ledger, which answers none, can no longer be installed.
 */
export function findEndingReceipt(
  serial: number,
  issued: readonly IssuedEntry[],
  receipts: readonly ReceiptEntry[],
): ReceiptEntry | undefined {
  const answer = newestAnsweringSerial(issued.filter((entry) => entry.serial <= serial));
  return receipts.find((receipt) => receipt.serial >= answer);
}

/** The newest serial that answers a request or an activation code; 0: none does. */
export const newestAnsweringSerial = (issued: readonly IssuedEntry[]): number =>
  Math.max(
    0,
    ...issued.filter(({ request_id }) => request_id !== null).map(({ serial }) => serial),
  );
