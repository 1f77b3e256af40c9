import type { LicenseRequest } from "../../license/requests/request.ts";
import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { DeskFacts, DeskRecords } from "../desk-records.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { RestoredEntry } from "../ledger/ledger-entries.ts";

type Desk = Pick<DeskFacts, "vendor" | "ledger">;

/** This vendor's licenses that the site has and the ledger lacks, by the site's own word. */
export const findUnknownLicenses = (
  { vendor, ledger }: Desk,
  { appliance, licenses }: LicenseRequest,
): string[] =>
  licenses
    .filter((license) => license.vendor === vendor.vendor)
    .filter(
      ({ license_id, serial }) =>
        !ledger.serialsOf({ license_id, appliance }).some((entry) => entry.serial >= serial),
    )
    .map(
      ({ license_id, serial }) =>
        `appliance ${appliance} has license ${license_id}, serial ${serial}, which the ledger lacks`,
    );

/** Such a license puts the desk into the state of a restored one; empty: it is in that state. */
export const buildRestoredEntries = (
  { ledger }: Desk,
  unknown: readonly string[],
  at: string,
): RestoredEntry[] => {
  const [cause] = unknown;
  return cause === undefined || ledger.orders.restored !== null
    ? []
    : [{ type: "restored", at, cause }];
};

export const endRestored = (desk: DeskRecords, reason: string, now: Instant): Promise<void> =>
  desk.ledger.transact(async (append) => {
    if (reason.trim() === "")
      throw new DeskRefused("the reason is empty", "say why the ledger is complete again");
    if (desk.ledger.orders.restored !== null)
      await append({ type: "restored-ended", at: rfc3339(now), reason });
  });
