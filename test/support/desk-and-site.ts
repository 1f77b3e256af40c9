// A vendor's desk in its own folder, and a site that trusts it.
import { join } from "node:path";
import { verifyLicenseRequest, type LicenseRequest } from "../../src/license/requests/request.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issueLicense } from "../../src/desk/issuing/issue.ts";
import { USUAL_OPTIONS, type IssueOptions } from "../../src/desk/issuing/issue-options.ts";
import type { IssuedEntry } from "../../src/desk/ledger/ledger-entries.ts";
import { openAppliance, type Appliance, type ApplianceOptions } from "./appliance.ts";
import { unwrap } from "./licensed-store.ts";
import { MONDAY } from "./scenario.ts";
import { tempFolder } from "./temp-folder.ts";

export interface DeskAndSite {
  readonly desk: Desk;
  readonly folder: string;
  readonly site: Appliance;
}

/** The desk may license `sim` and `ray`. */
export async function openDeskAndSite(options: ApplianceOptions = {}): Promise<DeskAndSite> {
  const folder = join(tempFolder(), "desk");
  const newDesk = { name: "Penetrode", products: ["sim", "ray"], passphrase: null };
  const desk = await Desk.create(realDisk, folder, newDesk);
  const site = await openAppliance({ licenses: {}, ...options });
  unwrap(await site.vendorTrust.trustVendor(desk.trust.document, "test"));
  return { desk, folder, site };
}

export const makeRequestFrom = async (
  site: Appliance,
  product: string | null = "sim",
  licenseKey: string | null = null,
): Promise<LicenseRequest> => {
  const { document } = unwrap(await site.licensing.request(product, licenseKey, "test"));
  return unwrap(await verifyLicenseRequest(document));
};

/**
 * Answers a request or renews a license; every option has its default unless a test sets it. The
 * answer to a request is a license without an end unless a test sets one.
 */
export const issueTestLicense = (
  desk: Desk,
  request: LicenseRequest | null,
  differing: Partial<IssueOptions> = {},
): Promise<IssuedEntry> => {
  const terms = { ...(request !== null && { valid_until: null }), ...differing.terms };
  return issueLicense(desk, { ...USUAL_OPTIONS, now: MONDAY, request, ...differing, terms });
};
