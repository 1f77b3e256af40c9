// Creates a site's data folder with a license, in the way a real site gets one: an identity on this
// machine, a vendor's desk, a request, and the desk's answer. The folder is closed again.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import type { HardwareComponent } from "../../src/license/documents/hardware.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import { checkpointWithUsage } from "../../src/operations/usage/checkpoint-with-usage.ts";
import { wire, type ApplianceOperations } from "../../src/operations/wire.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { readMachineComponents } from "../../src/platform/system/machine.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issueLicense } from "../../src/desk/issuing/issue.ts";
import { USUAL_OPTIONS } from "../../src/desk/issuing/issue-options.ts";
import { unwrap } from "./licensed-store.ts";
import { ManualClock } from "./manual-clock.ts";
import { terms } from "./scenario.ts";
import { toTermsDocument } from "./vendor.ts";

/** Returns the license id, which the desk chooses. */
export async function makeLicensedSite(folder: string, differing: Partial<Terms>): Promise<number> {
  const site = await openSiteFolder(folder, wallClock);
  try {
    return await installNewLicense(site, terms(differing));
  } finally {
    await site.close();
  }
}

/** Opens a data folder without a server, with a clock of the test. */
export async function openSiteFolder(
  folder: string,
  clock: () => Instant,
  hardware: readonly HardwareComponent[] = readMachineComponents(),
) {
  const { store, operations } = await wire({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    holder: "server",
    clock: new ManualClock(clock),
    hardware,
    checkpoint: (dataFolder, open) => checkpointWithUsage(realDisk, dataFolder, open),
    onFatal(error) {
      throw error;
    },
  });
  return { ...operations, store };
}

/** Creates a new vendor, trusts it and installs a license from it; returns the license id. */
export async function installNewLicense(
  { licensing, vendorTrust }: Pick<ApplianceOperations, "licensing" | "vendorTrust">,
  newTerms: Terms,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "berth-desk-"));
  try {
    const options = { name: "Initrode", products: [newTerms.product], passphrase: null };
    const desk = await Desk.create(realDisk, folder, options);
    unwrap(await vendorTrust.trustVendor(desk.trust.document, "test"));
    const { document, at } = unwrap(await licensing.request(newTerms.product, null, "test"));
    const { license_key: _key, ...changes } = toTermsDocument(newTerms);
    const issued = await issueLicense(desk, {
      ...USUAL_OPTIONS,
      request: unwrap(await verifyLicenseRequest(document)),
      isNew: true,
      licenseKey: newTerms.licenseKey,
      terms: changes,
      allowWeakBinding: true,
      now: at,
    });
    return unwrap(await licensing.installLicense(issued.document, "test")).id;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
