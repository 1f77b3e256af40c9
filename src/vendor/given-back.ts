import type { Desk } from "./desk.ts";
import type { Issued } from "./ledger.ts";
import { DeskRefused } from "./refusal.ts";

/** The site refuses every later serial of a license that it gave back. */
export function refuseGivenBack(desk: Desk, issued: Issued, hint: string): void {
  const { license_id, appliance, serial } = issued;
  const receipt = desk.ledger
    .received()
    .find(
      (one) => one.license_id === license_id && one.appliance === appliance && one.serial >= serial,
    );
  if (receipt === undefined) return;
  throw new DeskRefused(`license ${license_id} was given back on ${receipt.at.slice(0, 10)}`, hint);
}
