import type { Fault } from "../domain/fault.ts";
import type { LicenseFileFault, TrustClosedFault } from "../faults/fault-types.ts";
import { findRequestWarnings } from "../domain/licenses/request-warnings.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/rule-context.ts";
import type { State, Tombstone, TrustedVendor } from "../domain/state.ts";
import { describeTermsDifference } from "../domain/licenses/terms-difference.ts";
import type { Instant } from "../domain/time.ts";
import { viewLicense, type LicenseView } from "../domain/views.ts";
import { buildCloudRequest } from "../license/cloud-request.ts";
import { fingerprintOf, publicPart } from "../license/keys.ts";
import { verifyLicense } from "../license/license.ts";
import { findProofFault } from "../license/proof.ts";
import { signReceipt } from "../license/receipt.ts";
import { signLicenseRequest, type LicenseRequest } from "../license/request.ts";
import { describeTrustFault, verifyTrustDocument, type Vendor } from "../license/trust.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { sha256 } from "../platform/hash.ts";
import { randomId } from "../platform/random.ts";
import type { StorageFault } from "../store/journal/group-commit.ts";
import type { Store } from "../store/store.ts";
import type { CloudCredentials } from "./cloud-credentials.ts";
import type { Identity } from "./identity.ts";
import { buildLicenseRequest } from "./build-license-request.ts";
import { checkDocumentKind } from "./document-kind-check.ts";

export type LicensingResult<T> = Promise<
  Result<T, Fault | StorageFault | LicenseFileFault | TrustClosedFault>
>;

export interface CreatedLicenseRequest {
  readonly request: string;
  readonly at: Instant;
  readonly hardwareId: string;
  readonly weak: boolean;
  readonly product: string | null;
  readonly licenseKey: string | null;
  readonly document: string;
  /**
   * The same request in the form of a licensing cloud; null unless both keys are set and there is a
   * license key.
   */
  readonly cloud: string | null;
  /** Reasons why the vendor's license may not be installable here. */
  readonly warnings: readonly string[];
}

export interface VendorView extends TrustedVendor {
  readonly fingerprint: string;
}

interface CheckedTrust {
  readonly vendor: Vendor;
  /** Version of the vendor's trust document that was already trusted; null: none. */
  readonly checkedVersion: number | null;
}

export interface InstalledLicenseView extends LicenseView {
  /** Changes of a renewal; null: a new license, or one that was already installed. */
  readonly changes: readonly string[] | null;
}

/** Requests, installs and returns licenses, and manages trusted vendors. */
export class Licensing {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #credentials: CloudCredentials;
  readonly #builtInTrust: string | null;

  /** `builtInTrust`: the trust document of a vendor's own build, which trusts no other vendor. */
  constructor(
    store: Store,
    identity: Identity,
    credentials: CloudCredentials,
    builtInTrust: string | null = null,
  ) {
    this.#builtInTrust = builtInTrust;
    this.#credentials = credentials;
    this.#store = store;
    this.#identity = identity;
  }

  async trustVendor(document: string, peer: string): LicensingResult<VendorView> {
    const checked = await this.#checkTrust(document);
    if (!checked.ok) return checked;
    const { vendor, checkedVersion } = checked.value;
    const trust = { type: "TrustVendor", vendor, peer, checkedVersion } as const;
    return this.#store.transact(trust, () => viewVendor(vendor));
  }

  /** The content of a trust document, for a person to compare before trusting it. */
  async previewTrustDocument(document: string): LicensingResult<VendorView> {
    const checked = await this.#checkTrust(document);
    return checked.ok ? ok(viewVendor(checked.value.vendor)) : checked;
  }

  async #checkTrust(document: string): LicensingResult<CheckedTrust> {
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
    const kindFault = checkDocumentKind(text, "trust");
    if (kindFault !== null) return err(kindFault);
    const verified = await verifyTrustDocument(text, vendorOf);
    if (!verified.ok) {
      const reason = describeTrustFault(verified.fault, text, vendorOf);
      return err({ code: "invalid_license_file", reason });
    }
    const vendor = verified.value;
    // Every start verifies each license with the keys that are trusted then.
    for (const license of licenses.filter(({ grant }) => grant.vendor === vendor.vendor)) {
      if ((await findProofFault(license, this.#identity.id, [vendor])) === null) continue;
      const reason = `leaves out the key that license ${license.id} is signed with; install that license signed with another key first`;
      return err({ code: "invalid_license_file", reason });
    }
    return ok({ vendor, checkedVersion: vendors.get(vendor.vendor)?.version ?? null });
  }

  async distrustVendor(vendor: string, peer: string): LicensingResult<{ readonly vendor: string }> {
    if (this.#builtInTrust !== null) return err({ code: "trust_locked" });
    return this.#store.transact(
      { type: "DistrustVendor", vendor, peer },
      (_state, outcome) => outcome,
    );
  }

  vendors(): LicensingResult<VendorView[]> {
    return this.#store.read(({ vendors }) => [...vendors.values()].map(viewVendor));
  }

  /** Creates a license request. It is on disk before it is returned. */
  async request(
    product: string | null,
    licenseKey: string | null,
    peer: string,
  ): LicensingResult<CreatedLicenseRequest> {
    const { hardware, hardwareId, weak } = this.#identity.hashHardware();
    const request = {
      request: randomId(),
      nonce: randomId(),
      product,
      licenseKey,
      hardwareId,
      hardware,
    };
    const created = await this.#store.transact(
      ({ auditSeq, auditSum }) => ({
        type: "LicenseGenerate" as const,
        request,
        head: { auditSeq, auditSum },
        peer,
      }),
      (state, { at }) => ({
        content: buildLicenseRequest(this.#identity, state, request.request, at),
        warnings: findRequestWarnings(state, product),
        at,
      }),
    );
    if (!created.ok) return created;
    const { content, warnings, at } = created.value;
    const document = await signLicenseRequest(content, this.#identity.key);
    const cloud = await this.#buildCloudRequest(content, at);
    const fields = { request: request.request, at, hardwareId, weak, product, licenseKey };
    return ok({ ...fields, document, cloud, warnings });
  }

  /** Installs a vendor's license: verifies the signature, then applies the rules. */
  async installLicense(document: string, peer: string): LicensingResult<InstalledLicenseView> {
    const text = document.trim();
    const kindFault = checkDocumentKind(text, "license");
    if (kindFault !== null) return err(kindFault);
    const snapshot = await this.#store.read((state, { at }) => ({
      vendors: [...state.vendors.values()] as Vendor[],
      at,
      isInstalled: [...state.licenses.values()].some(({ grant }) => grant.document === text),
    }));
    if (!snapshot.ok) return snapshot;
    const { vendors, at, isInstalled } = snapshot.value;
    // Installing the same file again changes nothing, so its key may be retired by now.
    const verified = await verifyLicense(text, vendors, isInstalled ? null : at);
    if (!verified.ok) {
      return verified.fault === "is not signed by a trusted vendor"
        ? err({ code: "untrusted_vendor" })
        : err({ code: "invalid_license_file", reason: verified.fault });
    }
    const { license, terms, vendor } = verified.value;
    if (license.appliance !== this.#identity.id) {
      const appliances = { signed: license.appliance, here: this.#identity.id };
      return err({ code: "hardware_mismatch", appliances });
    }
    if (license.cnf.jwk.x !== this.#identity.key.x) return err({ code: "hardware_mismatch" });
    const { request_id: request, nonce } = license;
    return this.#store.transact(
      {
        type: "LicenseUpload",
        license: license.license_id,
        terms,
        grant: {
          vendor,
          serial: license.serial,
          document: text,
          lic: sha256(text),
          policyId: null,
          hardwareId: license.hardware_id,
        },
        answers: request === null || nonce === null ? null : { request, nonce },
        checkedVersion: vendors.find((entry) => entry.vendor === vendor)?.version ?? null,
        peer,
      },
      (state, { license: id, replacedTerms }, context) => {
        const view = viewInstalledLicense(state, id, context);
        return {
          ...view,
          changes: replacedTerms && describeTermsDifference(replacedTerms, view.terms),
        };
      },
    );
  }

  /** Returns a license to its vendor. A repeated call returns the same receipt, byte for byte. */
  async removeLicense(
    license: number,
    withBorrows: boolean,
    peer: string,
  ): LicensingResult<string> {
    const removed = await this.#store.transact(
      { type: "LicenseRemove", license, withBorrows, peer },
      (_state, tombstone): Tombstone => tombstone,
    );
    if (!removed.ok) return removed;
    const { serial, vendor, product, at, total, borrows } = removed.value;
    const receipt = {
      appliance: this.#identity.id,
      jwk: publicPart(this.#identity.key),
      license_id: license,
      serial,
      vendor,
      product,
      removed_at: rfc3339(at),
      total_consumptions: total,
      borrows: [...borrows],
    };
    return ok(await signReceipt(receipt, this.#identity.key));
  }

  async #buildCloudRequest(request: LicenseRequest, date: Instant): Promise<string | null> {
    const keys = await this.#credentials.readPair();
    const { license_key: licenseKey, request_id: requestId, hardware_id: hardwareId } = request;
    if (keys === null || licenseKey === null) return null;
    const product = request.product ?? "";
    return buildCloudRequest({ requestId, licenseKey, hardwareId, product, date, ...keys });
  }
}

export function viewInstalledLicense(state: State, id: number, context: RuleContext): LicenseView {
  const license = state.licenses.get(id);
  if (license === undefined) throw new Error("an installed license is missing from the state");
  return viewLicense(state, license, context);
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
