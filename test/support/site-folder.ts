// A site's data folder with a license in it, made the way a site comes to one and closed again: an
// identity of its own on this very machine, a vendor's desk, a request, and what the desk answers.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Terms } from "../../src/domain/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { verifyLicenseRequest } from "../../src/license/request.ts";
import { signTrustDocument } from "../../src/license/trust.ts";
import { CloudCredentials } from "../../src/operations/cloud-credentials.ts";
import { Identity } from "../../src/operations/identity.ts";
import { Licensing } from "../../src/operations/licensing.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { readMachineComponents } from "../../src/platform/machine.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { SealedFile } from "../../src/store/sealed-file.ts";
import { Store } from "../../src/store/store.ts";
import { Desk } from "../../src/desk/desk.ts";
import { issueLicense } from "../../src/desk/issue.ts";
import { unwrap } from "./licensed-store.ts";
import { terms } from "./scenario.ts";
import { toTermsDocument } from "./vendor.ts";

/** The id of the license is the desk's to choose, and is given back. */
export async function makeLicensedSite(folder: string, differing: Partial<Terms>): Promise<number> {
  const { store, licensing } = await openSiteFolder(folder, wallClock);
  try {
    return await installNewLicense(licensing, terms(differing));
  } finally {
    await store.close();
  }
}

/** A folder that is worked on without a server, at whatever time it shall be. */
export async function openSiteFolder(folder: string, clock: () => Instant) {
  const identity = new Identity(realDisk, folder, readMachineComponents());
  const store = await Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock,
    identify: () => identity.create(),
    recognize: (appliance) => identity.open(appliance),
    isBound: (license) => identity.matchHardware(license).isMatch,
    checkpoint: (where, open) => checkpoint(realDisk, where, open),
    onFatal(error) {
      throw error;
    },
  });
  const credentials = new CloudCredentials(store, new SealedFile(realDisk, folder));
  return { store, licensing: new Licensing(store, identity, credentials) };
}

/** A vendor of its own is trusted, asked and answers. */
export async function installNewLicense(licensing: Licensing, granting: Terms): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "berth-desk-"));
  try {
    const named = { name: "Initrode", products: [granting.product], passphrase: null };
    const desk = await Desk.create(realDisk, folder, named);
    unwrap(await licensing.trustVendor(await signTrustDocument(desk.vendor, desk.key), "test"));
    const { document, at } = unwrap(await licensing.request(granting.product, null, "test"));
    const { license_key: _key, ...given } = toTermsDocument(granting);
    const issued = await issueLicense(desk, {
      request: unwrap(await verifyLicenseRequest(document)),
      renewLicenseId: null,
      licenseId: null,
      isNew: true,
      licenseKey: granting.licenseKey,
      terms: given,
      allowWeakBinding: true,
      acceptForkReason: null,
      now: at,
    });
    return unwrap(await licensing.installLicense(issued.document, "test")).id;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
