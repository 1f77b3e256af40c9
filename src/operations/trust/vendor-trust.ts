import type { Fault } from "../../domain/model/fault.ts";
import type { SignedTrust, TrustedVendor } from "../../domain/model/state.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { LicenseFileFault, TrustClosedFault } from "../../faults/fault-types.ts";
import { fingerprintOf } from "../../license/documents/keys.ts";
import { verifyTrustDocument } from "../../license/documents/trust.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import { passOutcome } from "../command-runner.ts";

type TrustResult<T> = Promise<
  Result<T, Fault | StorageFault | LicenseFileFault | TrustClosedFault>
>;

export interface VendorView extends SignedTrust {
  /** Of the root. */
  readonly fingerprint: string;
  /** Every key that the root has retired, as far as this site knows. */
  readonly retiredKeys: readonly string[];
}

/** Manages the vendors whose licenses the site accepts. */
export class VendorTrust {
  readonly #store: Store;
  readonly #builtInTrust: string | null;

  /** `builtInTrust`: the trust document of a vendor's own build, which trusts no other vendor. */
  constructor(store: Store, builtInTrust: string | null) {
    this.#store = store;
    this.#builtInTrust = builtInTrust;
  }

  async trustVendor(document: string, peer: string): TrustResult<VendorView> {
    const trust = await this.#verify(document);
    if (!trust.ok) return trust;
    return this.#store.transact({ type: "TrustVendor", trust: trust.value, peer }, (state) =>
      viewVendor(state.vendors.get(trust.value.vendor) ?? trust.value, state),
    );
  }

  /** The content of a trust document, for a person to compare before trusting it. */
  async previewTrustDocument(document: string): TrustResult<VendorView> {
    const trust = await this.#verify(document);
    if (!trust.ok) return trust;
    return this.#store.read((state) => viewVendor(trust.value, state));
  }

  /** A vendor's own build trusts the root that it contains, and newer documents of it. */
  async #verify(document: string): TrustResult<SignedTrust> {
    const text = document.trim();
    const verified = await verifyTrustDocument(text);
    if (!verified.ok) return err({ code: "invalid_license_file", problem: verified.fault });
    const trust: SignedTrust = { ...verified.value, document: text, sum: sha256(text) };
    if (this.#builtInTrust === null) return ok(trust);
    const builtIn = await verifyTrustDocument(this.#builtInTrust);
    const isOwn = builtIn.ok && builtIn.value.jwk.x === trust.jwk.x;
    return isOwn ? ok(trust) : err({ code: "trust_locked" });
  }

  async distrustVendor(vendor: string, peer: string): TrustResult<{ readonly vendor: string }> {
    if (this.#builtInTrust !== null) return err({ code: "trust_locked" });
    return this.#store.transact({ type: "DistrustVendor", vendor, peer }, passOutcome);
  }

  listVendors(): TrustResult<VendorView[]> {
    return this.#store.read((state) =>
      [...state.vendors.values()].map((vendor) => viewVendor(vendor, state)),
    );
  }
}

const viewVendor = (
  trust: SignedTrust | TrustedVendor,
  {
    retiredKeys,
  }: { readonly retiredKeys: ReadonlyMap<string, { readonly keys: readonly string[] }> },
): VendorView => ({
  ...trust,
  fingerprint: fingerprintOf(trust.jwk),
  retiredKeys: [...new Set([...(retiredKeys.get(trust.vendor)?.keys ?? []), ...trust.retired])],
});
