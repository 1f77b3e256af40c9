// A vendor and an appliance that sign licenses and leases as the product does, and that can also
// sign documents which the product would never make.
import { createPrivateKey, sign } from "node:crypto";
import { deriveAirgapLicenseId } from "../../../src/license/codes/airgap-id.ts";
import { signCertificate } from "../../../src/license/documents/certificate.ts";
import type { IssuingKey } from "../../../src/license/documents/document.ts";
import type { Bundle } from "../../../src/license/documents/bundle.ts";
import {
  activationCodeKind,
  decodeConfirmationCode,
  signConfirmationCode,
} from "../../../src/license/codes/confirmation.ts";
import {
  generateKey,
  keyIdOf,
  publicKeyBytes,
  publicPart,
  type PrivateKey,
} from "../../../src/license/documents/keys.ts";
import type { LicenseDocument } from "../../../src/license/documents/license.ts";
import { signPolicy } from "../../../src/license/terms/policy.ts";
import type { TermsDocument } from "../../../src/license/terms/terms.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { DAY, instant } from "../../../src/domain/time.ts";

export const PRODUCT = "CAD";
export const NONCE = "device-0123456789";
const USER = "ada";

/** Members of a JSON object; undefined: the member is left out. */
export type Members = Readonly<Record<string, unknown>>;

const encode = (data: string | Uint8Array): string => Buffer.from(data).toString("base64url");

/** The part of a JWT: a text or bytes as they are, anything else as JSON. */
const toPart = (part: Members | string | Uint8Array): string =>
  encode(typeof part === "string" || part instanceof Uint8Array ? part : JSON.stringify(part));

/** Signs any header and payload, also such as no library would sign. */
export function signJwt(
  header: Members | string | Uint8Array,
  payload: Members | string | Uint8Array,
  key: PrivateKey,
): string {
  const text = `${toPart(header)}.${toPart(payload)}`;
  return `${text}.${encode(sign(null, Buffer.from(text), toKeyObject(key)))}`;
}

/** A signed document of so many characters: one of the headers, and a payload that fills it. */
export function signJwtOfLength(
  length: number,
  headers: readonly Members[],
  payload: Members,
  key: PrivateKey,
): string {
  const sizeOf = (part: Members): number => Buffer.byteLength(JSON.stringify(part));
  for (const header of headers) {
    const left = length - toPart(header).length - 88; // dots and signature
    const filler = "x".repeat(Math.floor((left * 3) / 4) - sizeOf({ ...payload, later: "" }));
    const text = signJwt(header, { ...payload, later: filler }, key);
    if (text.length === length) return text;
  }
  throw new Error(`no document has ${length} characters`);
}

const toKeyObject = (key: PrivateKey) => createPrivateKey({ key: { ...key }, format: "jwk" });

/** The payload of a JWT, without any check. */
export const payloadOf = (jwt: string): Members =>
  JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()) as Members;

/** Seconds since 1970, from now. */
export const secondsFromNow = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

/** As in terms, from now. */
export const timeFromNow = (seconds: number): string =>
  new Date(1_000 * secondsFromNow(seconds)).toISOString();

export const HOUR_SECONDS = 3_600;
export const BORROW_HOURS = 48;

const TERMS: TermsDocument = {
  product: PRODUCT,
  product_name: "CAD Studio",
  license_key: null,
  license_type: "perpetual",
  customer: "Initech",
  metadata: null,
  trial: false,
  enabled: true,
  start: null,
  valid_until: null,
  maintenance_until: null,
  grace_hours: null,
  slots: 5,
  timeout_minutes: 15,
  borrow_hours: BORROW_HOURS,
  early_return: true,
  move_grace_hours: 0,
  consumption: null,
  features: [],
};

const LICENSE_ID = 4_503_599_627_370_495;

/** A vendor: its root, and an issuing key with the root's certificate. */
export interface LeaseVendor {
  readonly root: PrivateKey;
  readonly issuing: IssuingKey;
}

/** Certifies an issuing key of a vendor, by default a new one. */
export async function certifyNewKey(root: PrivateKey, given?: PrivateKey): Promise<LeaseVendor> {
  const key = given ?? (await generateKey());
  const [iat, until] = [secondsFromNow(-HOUR_SECONDS), secondsFromNow(HOUR_SECONDS)];
  const content = { iss: keyIdOf(root), iat, until, cnf: { jwk: publicPart(key) }, trust: 1 };
  return { root, issuing: { key, cert: await signCertificate(content, root) } };
}

export interface CodeOptions {
  readonly terms?: Partial<TermsDocument>;
  readonly licenseKey?: string;
  readonly initializationCode?: string;
  readonly weak?: boolean;
  /** The day on which the code ends, counted from today (UTC); null: the policy's end applies. */
  readonly endsInDays?: number | null;
  readonly serial?: number;
  /** Another document in place of the policy. */
  readonly policy?: string;
}

export class LeaseIssuer {
  readonly vendor: LeaseVendor;
  readonly appliance: PrivateKey;

  private constructor(vendor: LeaseVendor, appliance: PrivateKey) {
    this.vendor = vendor;
    this.appliance = appliance;
  }

  static async create(vendor?: LeaseVendor, appliance?: PrivateKey): Promise<LeaseIssuer> {
    return new LeaseIssuer(
      vendor ?? (await certifyNewKey(await generateKey())),
      appliance ?? (await generateKey()),
    );
  }

  /** The public root key, which the application contains. */
  get rootKey(): string {
    return this.vendor.root.x;
  }

  /** The key that signs licenses and policies. */
  get issuingKey(): PrivateKey {
    return this.vendor.issuing.key;
  }

  get vendorId(): string {
    return keyIdOf(this.vendor.root);
  }

  get applianceId(): string {
    return keyIdOf(this.appliance);
  }

  /** The certificate of the issuing key, with a text after its payload. */
  certify(filler: string): string {
    const { root, issuing } = this.vendor;
    const header = { alg: "EdDSA", typ: "berth-key+jwt", kid: this.vendorId };
    return signJwt(header, JSON.stringify(payloadOf(issuing.cert)) + filler, root);
  }

  /** The payload of a license, with differences. */
  licensePayload(terms: Members = {}, members: Members = {}): Members {
    const license: LicenseDocument = {
      iss: this.vendorId,
      iat: secondsFromNow(-HOUR_SECONDS),
      license_id: LICENSE_ID,
      serial: 1,
      request_id: null,
      nonce: null,
      appliance: this.applianceId,
      cnf: { jwk: publicPart(this.appliance) },
      hardware_id: "ab".repeat(32),
      terms: TERMS,
    };
    return { ...license, terms: { ...TERMS, ...terms }, ...members };
  }

  get licenseHeader(): Members {
    const { key, cert } = this.vendor.issuing;
    return { alg: "EdDSA", typ: "berth-license+jwt", kid: keyIdOf(key), cert };
  }

  /** A signed policy, with differences. */
  async policy(terms: Partial<TermsDocument> = {}, members: Members = {}): Promise<string> {
    const policy = { iss: this.vendorId, iat: 0, policy_id: "P-1", terms: { ...TERMS, ...terms } };
    return signPolicy({ ...policy, ...members }, this.vendor.issuing);
  }

  license(terms: Members = {}, members: Members = {}): string {
    return signJwt(this.licenseHeader, this.licensePayload(terms, members), this.issuingKey);
  }

  get leaseHeader(): Members {
    return { alg: "EdDSA", typ: "berth-lease+jwt", kid: this.applianceId };
  }

  /** The payload of a lease under a license, with differences. */
  leasePayload(license: string, members: Members = {}): Members {
    const { license_id, serial } = payloadOf(license);
    return this.leaseMembers({ license_id, lic: sha256(license), serial, ...members });
  }

  lease(license: string, members: Members = {}): string {
    return signJwt(this.leaseHeader, this.leasePayload(license, members), this.appliance);
  }

  /** A lease under a bundle. */
  leaseByCode(bundle: Bundle, members: Members = {}): string {
    const payload = this.leaseMembers({ ...this.leaseByCodeMembers(bundle), ...members });
    return signJwt(this.leaseHeader, payload, this.appliance);
  }

  /** What a lease says about the bundle that it is under. */
  leaseByCodeMembers(bundle: Bundle) {
    const code = decodeConfirmationCode(bundle.confirmation_code);
    if (!code.ok) throw new Error("the bundle has no valid confirmation code");
    const { bytes, serial } = code.value;
    const license_id = deriveAirgapLicenseId(
      new Uint8Array(publicKeyBytes(this.vendor.root)),
      bundle.license_key,
    );
    const lic = sha256(Buffer.from(bytes, "hex"));
    return { license_id, lic, serial };
  }

  /** The payload of a lease, with differences. */
  leaseMembers(members: Members): Members {
    return {
      iss: this.applianceId,
      sub: USER,
      aud: PRODUCT,
      jti: "1",
      iat: secondsFromNow(0),
      exp: secondsFromNow(8 * HOUR_SECONDS),
      host: "workstation-1",
      borrowed: true,
      nonce: NONCE,
      ...members,
    };
  }

  /** The proof of a license that was activated by codes. */
  async bundle(options: CodeOptions = {}): Promise<Bundle> {
    const { licenseKey = "CAD-0001", initializationCode = "", weak = false, serial = 3 } = options;
    const policy = options.policy ?? (await this.policy(options.terms));
    const days = options.endsInDays ?? null;
    const today = Math.floor(Date.now() / DAY);
    const validUntil = days === null ? null : instant((today + days) * DAY);
    const hardwarePrefix = "00112233ff";
    const nonce = "a1b2c3d4e5";
    const activation = { appliance: this.applianceId, nonce, hardwarePrefix, weak };
    const claims = { activation, licenseKey, policyHash: sha256(policy), initializationCode };
    return {
      version: 2,
      kind: activationCodeKind(weak),
      policy,
      confirmation_code: await signConfirmationCode(
        claims,
        { validUntil, serial },
        this.issuingKey,
      ),
      license_key: licenseKey,
      appliance_id: this.applianceId,
      hardware_prefix: hardwarePrefix,
      nonce,
      initialization_code: initializationCode,
      appliance_jwk: publicPart(this.appliance),
    };
  }
}
