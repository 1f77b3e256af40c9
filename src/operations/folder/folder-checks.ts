import type { State, TrustedVendor } from "../../domain/model/state.ts";
import { describeProofFault, findProofFault } from "../../license/documents/proof.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import { verifyTrustDocument } from "../../license/documents/trust.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
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
      const description = `${name} (${vendor}) is trusted, and this build of berth trusts another vendor alone`;
      const hint =
        "start the berth build that trusts this vendor, or restore a backup with berth restore";
      return { license: null, description, hint };
    }
    const vendors = [...state.vendors.values()];
    for (const vendor of vendors) {
      const difference = await findTrustDifference(vendor, state);
      if (difference === null) continue;
      const description = `the trust document of ${vendor.name} (${vendor.vendor}) ${difference}`;
      return { license: null, description };
    }
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
  const verified = await verifyTrustDocument(builtIn);
  const root = verified.ok ? verified.value.jwk.x : null;
  return [...vendors.values()].find(({ jwk }) => jwk.x !== root) ?? null;
}

const SIGNED_NAMES = ["vendor", "name", "version", "jwk", "retired"] as const;

/** How a stored vendor differs from what its root signed; null: not at all. */
async function findTrustDifference(
  vendor: TrustedVendor,
  { retiredKeys }: State,
): Promise<string | null> {
  const verified = await verifyTrustDocument(vendor.document);
  if (!verified.ok) return describeDocumentFault(verified.fault);
  const signed = verified.value;
  const names: string[] = SIGNED_NAMES.filter(
    (name) => !Bun.deepEquals(signed[name], vendor[name]),
  );
  const sum = sha256(vendor.document);
  if (vendor.sum !== sum) names.push("sum");
  // Products of other vendors are left out.
  if (!vendor.products.every((product) => signed.products.includes(product)))
    names.push("products");
  // It has the keys of earlier documents, too, and decides what is accepted.
  const row = retiredKeys.get(signed.vendor);
  const isComplete =
    row?.jwk.x === signed.jwk.x &&
    row.version === signed.version &&
    row.sum === sum &&
    signed.retired.every((key) => row.keys.includes(key));
  if (!isComplete) names.push("retiredKeys");
  return names.length === 0 ? null : `differs from what it signed: ${names.join(", ")}`;
}

/** The key in a folder must be the appliance's: licenses and leases depend on it. */
const checkIdentity = (disk: Disk, folder: string, appliance: string): void =>
  new Identity(disk, folder, []).open(appliance);

/** The checks that every command makes on a data folder or a backup before it uses it. */
export const folderChecks = {
  identity: checkIdentity,
  checkSignatures: createSignatureCheck(builtInTrust),
};
