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

/**
 * The newest serial that answers a request or an activation code which none before it answers; 0:
 * there is none. A site that returned a license accepts no other answer to the same request.
 */
export function newestAnsweringSerial(issued: readonly IssuedEntry[]): number {
  const first = new Map<string, number>();
  for (const { request_id, serial } of issued) {
    if (request_id === null) continue;
    first.set(request_id, Math.min(first.get(request_id) ?? serial, serial));
  }
  return Math.max(0, ...first.values());
}
