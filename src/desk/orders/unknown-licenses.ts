import type { LicenseRequest } from "../../license/requests/request.ts";
import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { DeskFacts, DeskRecords } from "../desk-records.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { RestoredEntry } from "../ledger/ledger-entries.ts";

type Desk = Pick<DeskFacts, "vendor" | "ledger">;

export interface UnknownLicense {
  readonly appliance: string;
  readonly license_id: number;
  readonly serial: number;
  readonly text: string;
}

/** This vendor's licenses that the site has and the ledger lacks, by the site's own word. */
export const findUnknownLicenses = (
  { vendor, ledger }: Desk,
  { appliance, licenses }: LicenseRequest,
): UnknownLicense[] =>
  licenses
    .filter((license) => license.vendor === vendor.vendor)
    .filter(
      ({ license_id, serial }) =>
        !ledger.serialsOf({ license_id, appliance }).some((entry) => entry.serial >= serial),
    )
    .map(({ license_id, serial }) => ({
      appliance,
      license_id,
      serial,
      text: `appliance ${appliance} has license ${license_id}, serial ${serial}, which the ledger lacks`,
    }));

/**
 * Such a license puts the desk into the state of a restored one, once: what was known when a person
 * ended the state does not begin it again. Anybody can write such a request, so it counts only if
 * the appliance is known, or asks for an order.
 */
export const buildRestoredEntries = (
  { ledger }: Desk,
  unknown: readonly UnknownLicense[],
  hasOrder: boolean,
  at: string,
): RestoredEntry[] =>
  unknown
    .filter(({ appliance }) => hasOrder || ledger.issuedTo(appliance).length > 0)
    .filter((license) => !ledger.orders.isKnownUnknown(license))
    .map(({ text, ...license }) => ({ type: "restored", at, cause: text, license }));

/** A person knows that the ledger lacks something. */
export const beginRestored = (desk: DeskRecords, cause: string, now: Instant): Promise<void> =>
  desk.ledger.transact(async (append) => {
    if (cause.trim() === "")
      throw new DeskRefused("the reason is empty", "say what the ledger lacks");
    await append({ type: "restored", at: rfc3339(now), cause });
  });

export const endRestored = (desk: DeskRecords, reason: string, now: Instant): Promise<void> =>
  desk.ledger.transact(async (append) => {
    if (reason.trim() === "")
      throw new DeskRefused("the reason is empty", "say why the ledger is complete again");
    if (desk.ledger.orders.restored !== null)
      await append({ type: "restored-ended", at: rfc3339(now), reason });
  });
