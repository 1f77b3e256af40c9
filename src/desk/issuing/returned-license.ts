import type { Desk } from "../desk.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";
import { DeskRefused } from "../desk-refused.ts";

/** A site that returned a license refuses this serial and every renewal of it. */
export function refuseReturnedLicense(desk: Desk, issued: IssuedEntry, hint: string): void {
  const receipt = desk.ledger.findReceipt(issued);
  if (receipt === null) return;
  const day = receipt.at.slice(0, 10);
  throw new DeskRefused(`license ${issued.license_id} was returned on ${day}`, hint);
}
