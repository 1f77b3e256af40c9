import type { Desk } from "./desk.ts";
import type { Issued } from "./ledger.ts";
import { DeskRefused } from "./refusal.ts";

/** The site refuses this serial, and every renewal of it, once it gave the license back. */
export function refuseGivenBack(desk: Desk, issued: Issued, hint: string): void {
  const receipt = desk.ledger.receiptOf(issued);
  if (receipt === null) return;
  const day = receipt.at.slice(0, 10);
  throw new DeskRefused(`license ${issued.license_id} was returned on ${day}`, hint);
}
