import type { Fault } from "../../domain/model/fault.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { TrustedVendor } from "../../domain/model/state.ts";
import type { LicenseFileFault, TrustClosedFault } from "../../faults/fault-types.ts";
import { fingerprintOf } from "../../license/documents/keys.ts";
import { findProofFault } from "../../license/documents/proof.ts";
import { verifyTrustDocument, type Vendor } from "../../license/documents/trust.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import { passOutcome } from "../command-runner.ts";
import type { Identity } from "../appliance/identity.ts";

type TrustResult<T> = Promise<
  Result<T, Fault | StorageFault | LicenseFileFault | TrustClosedFault>
>;

export interface VendorView extends TrustedVendor {
  readonly fingerprint: string;
}

interface CheckedTrust {
  readonly vendor: Vendor;
  /** Version of the vendor's trust document that was already trusted; null: none. */
  readonly checkedVersion: number | null;
}

/** Manages the vendors whose licenses the site accepts. */
export class VendorTrust {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #builtInTrust: string | null;

  /** `builtInTrust`: the trust document of a vendor's own build, which trusts no other vendor. */
  constructor(store: Store, identity: Identity, builtInTrust: string | null) {
    this.#store = store;
    this.#identity = identity;
    this.#builtInTrust = builtInTrust;
  }

  async trustVendor(document: string, peer: string): TrustResult<VendorView> {
    const checked = await this.#checkTrust(document);
    if (!checked.ok) return checked;
    const { vendor, checkedVersion } = checked.value;
    const trust = { type: "TrustVendor", vendor, peer, checkedVersion } as const;
    return this.#store.transact(trust, () => viewVendor(vendor));
  }

  /** The content of a trust document, for a person to compare before trusting it. */
  async previewTrustDocument(document: string): TrustResult<VendorView> {
    const checked = await this.#checkTrust(document);
    return checked.ok ? ok(viewVendor(checked.value.vendor)) : checked;
  }

  async #checkTrust(document: string): TrustResult<CheckedTrust> {
    if (this.#builtInTrust !== null && document.trim() !== this.#builtInTrust)
      return err({ code: "trust_locked" });
    const snapshot = await this.#store.read(({ vendors, licenses }) => ({
      vendors: new Map(vendors),
      // Copies: a renewal that is installed meanwhile changes the objects of the state.
      licenses: [...licenses.values()].map((license) => ({ ...license })),
    }));
    if (!snapshot.ok) return snapshot;
    const { vendors, licenses } = snapshot.value;
    const text = document.trim();
    const vendorOf = (id: string): Vendor | null => asVendor(vendors.get(id));
    const verified = await verifyTrustDocument(text, vendorOf);
    if (!verified.ok) return err({ code: "invalid_license_file", problem: verified.fault });
    const vendor = verified.value;
    // Every start verifies each license with the keys that are trusted then.
    for (const license of licenses.filter(({ grant }) => grant.vendor === vendor.vendor)) {
      if ((await findProofFault(license, this.#identity.id, [vendor])) === null) continue;
      const problem = { wrong: "dropped_key", license: license.id } as const;
      return err({ code: "invalid_license_file", problem });
    }
    return ok({ vendor, checkedVersion: vendors.get(vendor.vendor)?.version ?? null });
  }

  async distrustVendor(vendor: string, peer: string): TrustResult<{ readonly vendor: string }> {
    if (this.#builtInTrust !== null) return err({ code: "trust_locked" });
    return this.#store.transact({ type: "DistrustVendor", vendor, peer }, passOutcome);
  }

  listVendors(): TrustResult<VendorView[]> {
    return this.#store.read(({ vendors }) => [...vendors.values()].map(viewVendor));
  }
}

const viewVendor = (vendor: TrustedVendor): VendorView => {
  const [key] = vendor.keys;
  return { ...vendor, fingerprint: key === undefined ? "" : fingerprintOf(key) };
};

function asVendor(vendor: TrustedVendor | undefined): Vendor | null {
  if (vendor === undefined) return null;
  const { retired, ...current } = vendor;
  const copy = { ...current, products: [...current.products], keys: [...current.keys] };
  return retired === undefined ? copy : { ...copy, retired: [...retired] };
}
