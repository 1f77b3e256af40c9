import type { Instant } from "../../domain/time.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import { verifyReceipt, type Receipt } from "../../license/documents/receipt.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { newestAnsweringSerial } from "./ending-receipt.ts";
import type { DeskRecords } from "../desk-records.ts";
import { DeskRefused } from "../desk-refused.ts";

/** Records a receipt, if the appliance of a license from this desk signed it. */
export async function receiveReceipt(
  desk: DeskRecords,
  document: string,
  now: Instant,
): Promise<Receipt> {
  const verified = await verifyReceipt(document);
  if (!verified.ok) {
    throw new DeskRefused(
      `the receipt ${describeDocumentFault(verified.fault)}`,
      "ask the site to send it again",
    );
  }
  const { appliance, vendor, license_id, serial, total_consumptions, removed_at } = verified.value;
  await desk.ledger.transact(async (append) => {
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
    const receipts = desk.ledger.receiptsFor({ license_id, appliance });
    const isRecorded = receipts.some((entry) => entry.serial === serial);
    if (!isRecorded) {
      const at = rfc3339(now);
      const received = { appliance, license_id, serial, total_consumptions, removed_at };
      await append({ type: "received", at, ...received });
    }
  });
  return verified.value;
}
