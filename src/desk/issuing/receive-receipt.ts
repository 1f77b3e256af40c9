import type { Instant } from "../../domain/time.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import { verifyReceipt, type Receipt } from "../../license/documents/receipt.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { newestAnsweringSerial } from "./ending-receipt.ts";
import type { DeskFacts, DeskRecords } from "../desk-records.ts";
import { DecisionNeeded, DeskRefused } from "../desk-refused.ts";
import type { ReceiptEntry } from "../ledger/ledger-entries.ts";

export interface CheckedReceipt {
  readonly receipt: Receipt;
  /** The line for the ledger; null: it has it already. */
  readonly entry: ReceiptEntry | null;
}

/** Checks that the appliance of a license from this desk signed the receipt; writes nothing. */
export async function checkReceipt(
  desk: DeskFacts,
  document: string,
  now: Instant,
): Promise<CheckedReceipt> {
  const verified = await verifyReceipt(document);
  if (!verified.ok) {
    throw new DeskRefused(
      `the receipt ${describeDocumentFault(verified.fault)}`,
      "ask the site to send it again",
    );
  }
  const receipt = verified.value;
  const { appliance, vendor, license_id, serial, total_consumptions, removed_at } = receipt;
  const issued = desk.ledger.serialsOf({ license_id, appliance });
  const newest = newestAnsweringSerial(issued);
  // A renewal that answers no request is not counted: the site can no longer install it.
  if (newest > serial) {
    throw new DeskRefused(
      `the newest serial of this license is ${newest}, but the receipt is for serial ${serial}`,
      "ask the site to install that serial, or the answer to a new request, and return it",
    );
  }
  if (issued.length === 0 || vendor !== desk.vendor.vendor) {
    throw new DeskRefused(
      "this desk issued no such license to that appliance",
      "berth vendor list shows the licenses",
    );
  }
  if (!issued.some((entry) => entry.serial === serial)) {
    throw new DecisionNeeded(
      "unknown_license",
      `the receipt is for serial ${serial} of license ${license_id}, which the ledger lacks`,
      "restore the newest backup of the desk; berth vendor restored --begin REASON waits until then",
    );
  }
  const borrows = receipt.borrows.length;
  // A restored copy may return the same serial again, with slots that were borrowed since.
  const isRecorded = desk.ledger
    .receiptsFor({ license_id, appliance })
    .some((entry) => entry.serial === serial && entry.removed_at === removed_at);
  if (isRecorded) return { receipt, entry: null };
  const returned = { appliance, license_id, serial, total_consumptions, borrows, removed_at };
  return { receipt, entry: { type: "received", at: rfc3339(now), ...returned } };
}

/** Records a receipt. */
export const receiveReceipt = (
  desk: DeskRecords,
  document: string,
  now: Instant,
): Promise<CheckedReceipt> =>
  desk.ledger.transact(async (append) => {
    const checked = await checkReceipt(desk, document, now);
    if (checked.entry !== null) await append(checked.entry);
    return checked;
  });
