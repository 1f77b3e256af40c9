import type { IssuedEntry, ReceiptEntry } from "./ledger.ts";

/**
 * The receipt that ends this serial at its site; undefined: there is none. All of it is about one
 * license at one appliance. A site that gave a license back takes a newer serial only in answer to
 * a request: a renewal from the ledger, which answers none, can no longer be installed there.
 */
export function findEndingReceipt(
  serial: number,
  issued: readonly IssuedEntry[],
  received: readonly ReceiptEntry[],
): ReceiptEntry | undefined {
  const answer = newestAnsweringSerial(issued.filter((one) => one.serial <= serial));
  return received.find((one) => one.serial >= answer);
}

/** The newest serial that answers a request or an activation code; 0: there is none. */
export const newestAnsweringSerial = (issued: readonly IssuedEntry[]): number =>
  Math.max(
    0,
    ...issued.filter(({ request_id }) => request_id !== null).map(({ serial }) => serial),
  );
