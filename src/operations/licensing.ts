import type { Fault } from "../domain/fault.ts";
import { findRequestWarnings } from "../domain/request-warnings.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { State, Tombstone, TrustedVendor } from "../domain/state.ts";
import { describeTermsDifference } from "../domain/terms-difference.ts";
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
import type { StorageFault } from "../store/group-commit.ts";
import type { Store } from "../store/store.ts";
import type { CloudCredentials } from "./cloud-credentials.ts";
import type { Identity } from "./identity.ts";
import { buildLicenseRequest } from "./build-license-request.ts";
import { checkDocumentKind } from "./document-kind-check.ts";

/** A file from outside that is not what it should be. */
export interface LicenseFileFault {
  readonly code: "invalid_license_file";
  /** Finishes "the file …". */
  readonly reason: string;
}

/** This build trusts the vendor it was built with. */
export interface TrustClosedFault {
  readonly code: "trust_locked";
}

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
   * The same question as a licensing cloud takes it; null unless both keys and a license key are
   * there.
   */
  readonly cloud: string | null;
  /** What may keep the vendor's answer from coming in. */
  readonly warnings: readonly string[];
}

export interface VendorView extends TrustedVendor {
  readonly fingerprint: string;
}

interface CheckedTrust {
  readonly vendor: Vendor;
  /** Of the document that was known of that vendor; null: none. */
  readonly checkedVersion: number | null;
}

export interface InstalledLicenseView extends LicenseView {
  /** What a renewal changed; null: the license is new here, or was installed already. */
  readonly changes: readonly string[] | null;
}

/** How licenses reach a site with no way out, and how they leave it again. */
export class Licensing {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #credentials: CloudCredentials;
  readonly #baked: string | null;

  /** `baked`: the trust document of a vendor's own build; then no other vendor is ever trusted. */
  constructor(
    store: Store,
    identity: Identity,
    credentials: CloudCredentials,
    baked: string | null = null,
  ) {
    this.#baked = baked;
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

  /** What a trust document says, for a person to compare before it is believed. */
  async previewTrustDocument(document: string): LicensingResult<VendorView> {
    const checked = await this.#checkTrust(document);
    return checked.ok ? ok(viewVendor(checked.value.vendor)) : checked;
  }

  async #checkTrust(document: string): LicensingResult<CheckedTrust> {
    if (this.#baked !== null && document.trim() !== this.#baked)
      return err({ code: "trust_locked" });
    const known = await this.#store.read(({ vendors, licenses }) => ({
      vendors: new Map(vendors),
      // Copies: a renewal that comes in meanwhile changes the ones in the state.
      licenses: [...licenses.values()].map((license) => ({ ...license })),
    }));
    if (!known.ok) return known;
    const { vendors, licenses } = known.value;
    const text = document.trim();
    const vendorOf = (id: string): Vendor | null => asVendor(vendors.get(id));
    const misplaced = checkDocumentKind(text, "trust");
    if (misplaced !== null) return err(misplaced);
    const verified = await verifyTrustDocument(text, vendorOf);
    if (!verified.ok) {
      const reason = describeTrustFault(verified.fault, text, vendorOf);
      return err({ code: "invalid_license_file", reason });
    }
    const vendor = verified.value;
    // Every start checks each license against the keys that are trusted then.
    for (const license of licenses.filter(({ grant }) => grant.vendor === vendor.vendor)) {
      if ((await findProofFault(license, this.#identity.id, [vendor])) === null) continue;
      const reason = `leaves out the key that license ${license.id} is signed with; install that license signed with another key first`;
      return err({ code: "invalid_license_file", reason });
    }
    return ok({ vendor, checkedVersion: vendors.get(vendor.vendor)?.version ?? null });
  }

  async distrustVendor(vendor: string, peer: string): LicensingResult<{ readonly vendor: string }> {
    if (this.#baked !== null) return err({ code: "trust_locked" });
    return this.#store.transact({ type: "DistrustVendor", vendor, peer }, (_state, gone) => gone);
  }

  vendors(): LicensingResult<VendorView[]> {
    return this.#store.read(({ vendors }) => [...vendors.values()].map(viewVendor));
  }

  /** A request to carry out; durable and remembered before it is handed over. */
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
    const made = await this.#store.transact(
      ({ auditSeq, auditSum }) => ({
        type: "MakeRequest" as const,
        request,
        head: { auditSeq, auditSum },
        peer,
      }),
      (state, { at }) => ({
        described: buildLicenseRequest(this.#identity, state, request.request, at),
        warnings: findRequestWarnings(state, product),
        at,
      }),
    );
    if (!made.ok) return made;
    const { described, warnings, at } = made.value;
    const document = await signLicenseRequest(described, this.#identity.key);
    const cloud = await this.#cloudRequest(described, at);
    const facts = { request: request.request, at, hardwareId, weak, product, licenseKey };
    return ok({ ...facts, document, cloud, warnings });
  }

  /** Takes in what a vendor sent: a signature to check, then the rules. */
  async installLicense(document: string, peer: string): LicensingResult<InstalledLicenseView> {
    const text = document.trim();
    const misplaced = checkDocumentKind(text, "license");
    if (misplaced !== null) return err(misplaced);
    const known = await this.#store.read((state, at) => ({
      vendors: [...state.vendors.values()] as Vendor[],
      at,
      isInstalled: [...state.licenses.values()].some(({ grant }) => grant.document === text),
    }));
    if (!known.ok) return known;
    const { vendors, at, isInstalled } = known.value;
    // The same file again changes nothing, so it may be signed with a key that is retired by now.
    const verified = await verifyLicense(text, vendors, isInstalled ? null : at);
    if (!verified.ok) {
      return verified.fault === "is not signed by a trusted vendor"
        ? err({ code: "untrusted_vendor" })
        : err({ code: "invalid_license_file", reason: verified.fault });
    }
    const { license, terms, vendor } = verified.value;
    const here = this.#identity.id;
    if (license.appliance !== here) {
      const appliances = { signed: license.appliance, here };
      return err({ code: "hardware_mismatch", appliances });
    }
    if (license.cnf.jwk.x !== this.#identity.key.x) return err({ code: "hardware_mismatch" });
    const { request_id: request, nonce } = license;
    return this.#store.transact(
      {
        type: "InstallLicense",
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
        checkedVersion: vendors.find((one) => one.vendor === vendor)?.version ?? null,
        peer,
      },
      (state, { license: id, replacedTerms }, at) => {
        const view = viewInstalledLicense(state, id, at);
        return {
          ...view,
          changes: replacedTerms && describeTermsDifference(replacedTerms, view.terms),
        };
      },
    );
  }

  /** Gives a license back; asking again gives the same receipt, character for character. */
  async removeLicense(
    license: number,
    withBorrows: boolean,
    peer: string,
  ): LicensingResult<string> {
    const removed = await this.#store.transact(
      { type: "RemoveLicense", license, withBorrows, peer },
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

  async #cloudRequest(request: LicenseRequest, date: Instant): Promise<string | null> {
    const keys = await this.#credentials.readPair();
    const { license_key: licenseKey, request_id: requestId, hardware_id: hardwareId } = request;
    if (keys === null || licenseKey === null) return null;
    const product = request.product ?? "";
    return buildCloudRequest({ requestId, licenseKey, hardwareId, product, date, ...keys });
  }
}

export function viewInstalledLicense(state: State, id: number, at: Instant): LicenseView {
  const license = state.licenses.get(id);
  if (license === undefined) throw new Error("a license was installed and is not there");
  return viewLicense(state, license, at);
}

const viewVendor = (vendor: TrustedVendor): VendorView => {
  const [key] = vendor.keys;
  return { ...vendor, fingerprint: key === undefined ? "" : fingerprintOf(key) };
};

function asVendor(vendor: TrustedVendor | undefined): Vendor | null {
  if (vendor === undefined) return null;
  const { retired, ...known } = vendor;
  const whole = { ...known, products: [...known.products], keys: [...known.keys] };
  return retired === undefined ? whole : { ...whole, retired: [...retired] };
}
