import type { State, TrustedVendor } from "../domain/state.ts";
import { findProofFault } from "../license/proof.ts";
import { verifyTrustDocument, type Vendor } from "../license/trust.ts";
import { builtInTrust } from "../platform/version.ts";
import type { SignatureCheck } from "../store/signatures.ts";
import { checkIdentity } from "./identity-check.ts";

/**
 * Whether the licenses in a folder are what vendors signed that are trusted there; in a vendor's
 * own build (`baked`: its trust document), also whether nobody else is trusted in it.
 */
export const createSignatureCheck =
  (baked: string | null): SignatureCheck =>
  async (state) => {
    const foreign = baked === null ? null : await foreignVendor(state, baked);
    if (foreign !== null) {
      const { name, vendor } = foreign;
      const what = `${name} (${vendor}) is trusted with a key that is not in this build of berth`;
      const hint =
        "start the berth build that trusts this vendor, or restore a backup with berth restore";
      return { license: null, description: what, hint };
    }
    const vendors = [...state.vendors.values()] as Vendor[];
    for (const license of state.licenses.values()) {
      const reason = await findProofFault(license, state.appliance, vendors);
      if (reason === null) continue;
      const { id, terms } = license;
      return { license: id, description: `license ${id} for ${terms.product} ${reason}` };
    }
    return null;
  };

async function foreignVendor({ vendors }: State, baked: string): Promise<TrustedVendor | null> {
  const own = await verifyTrustDocument(baked, () => null);
  const keys = new Set(own.ok ? own.value.keys.map(({ x }) => x) : []);
  const all = [...vendors.values()];
  return all.find((vendor) => vendor.keys.some(({ x }) => !keys.has(x))) ?? null;
}

/** What every command asks of a folder, or of a backup, before it believes it. */
export const folderChecks = {
  identity: checkIdentity,
  checkSignatures: createSignatureCheck(builtInTrust),
};
