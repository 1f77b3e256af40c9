import type { State, TrustedVendor } from "../../domain/model/state.ts";
import { describeProofFault, findProofFault } from "../../license/documents/proof.ts";
import { verifyTrustDocument, type Vendor } from "../../license/documents/trust.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { builtInTrust } from "../../platform/embedded/version.ts";
import type { SignatureCheck } from "../../store/state/signature-check.ts";
import { Identity } from "../appliance/identity.ts";

/**
 * Checks that the licenses in a folder are signed by vendors that are trusted there. In a vendor's
 * own build (`builtIn`: its trust document), also checks that no other vendor is trusted.
 */
export const createSignatureCheck =
  (builtIn: string | null): SignatureCheck =>
  async (state) => {
    const foreign = builtIn === null ? null : await findForeignVendor(state, builtIn);
    if (foreign !== null) {
      const { name, vendor } = foreign;
      const description = `${name} (${vendor}) is trusted with a key that is not in this build of berth`;
      const hint =
        "start the berth build that trusts this vendor, or restore a backup with berth restore";
      return { license: null, description, hint };
    }
    const vendors = [...state.vendors.values()] as Vendor[];
    for (const license of state.licenses.values()) {
      const fault = await findProofFault(license, state.appliance, vendors);
      if (fault === null) continue;
      const { id, terms } = license;
      const description = `license ${id} for ${terms.product} ${describeProofFault(fault)}`;
      return { license: id, description };
    }
    return null;
  };

async function findForeignVendor(
  { vendors }: State,
  builtIn: string,
): Promise<TrustedVendor | null> {
  const verified = await verifyTrustDocument(builtIn, () => null);
  const keys = new Set(verified.ok ? verified.value.keys.map(({ x }) => x) : []);
  const trusted = [...vendors.values()];
  return trusted.find((vendor) => vendor.keys.some(({ x }) => !keys.has(x))) ?? null;
}

/** The key in a folder must be the appliance's: licenses and leases depend on it. */
const checkIdentity = (disk: Disk, folder: string, appliance: string): void =>
  new Identity(disk, folder, []).open(appliance);

/** The checks that every command makes on a data folder or a backup before it uses it. */
export const folderChecks = {
  identity: checkIdentity,
  checkSignatures: createSignatureCheck(builtInTrust),
};
