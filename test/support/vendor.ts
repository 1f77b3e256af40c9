// A vendor with real keys that sign whatever a test needs.
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { signCertificate, type KeyCertificate } from "../../src/license/documents/certificate.ts";
import type { IssuingKey } from "../../src/license/documents/document.ts";
import { describeDocumentFault } from "../../src/license/documents/document-fault.ts";
import {
  signConfirmationCode,
  decodeActivationCode,
} from "../../src/license/codes/confirmation.ts";
import {
  generateKey,
  keyIdOf,
  publicPart,
  type PrivateKey,
} from "../../src/license/documents/keys.ts";
import { signLicense, type LicenseDocument } from "../../src/license/documents/license.ts";
import { signPolicy } from "../../src/license/terms/policy.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import type { TermsDocument } from "../../src/license/terms/terms.ts";
import { signTrustDocument, type Vendor } from "../../src/license/documents/trust.ts";
import { sha256 } from "../../src/platform/crypto/hash.ts";
import { terms } from "./scenario.ts";

export interface TestVendor {
  /** The id of the root. */
  readonly id: string;
  readonly root: PrivateKey;
  readonly issuing: IssuingKey;
  /** The trust document. */
  readonly trust: string;
}

/** As long as a certificate can be valid: a test chooses the time of its site. */
const ALWAYS = { iat: 0, until: 253_402_300_799 };

/** Certifies an issuing key with a root, with the given differences. */
export async function certifyKey(
  root: PrivateKey,
  differing: Partial<KeyCertificate> = {},
  key?: PrivateKey,
): Promise<IssuingKey> {
  const issuing = key ?? (await generateKey());
  const content = { iss: keyIdOf(root), ...ALWAYS, cnf: { jwk: publicPart(issuing) }, trust: 1 };
  return { key: issuing, cert: await signCertificate({ ...content, ...differing }, root) };
}

/** Makes a vendor with a root, an issuing key and a trust document with the given differences. */
export async function createVendor(differing: Partial<Vendor> = {}): Promise<TestVendor> {
  const root = await generateKey();
  const issuing = await certifyKey(root);
  return { id: keyIdOf(root), root, issuing, trust: await makeTrustDocument(differing, root) };
}

export const VENDOR_PRODUCTS = ["cad", "cam", "DEMO"];

export const makeVendor = (differing: Partial<Vendor> = {}, root = VENDOR_KEY): Vendor => ({
  vendor: keyIdOf(root),
  name: "Initrode",
  version: 1,
  jwk: publicPart(root),
  products: VENDOR_PRODUCTS,
  retired: [],
  ...differing,
});

/** Signs a trust document with the given differences. */
export const makeTrustDocument = (
  differing: Partial<Vendor> = {},
  root = VENDOR_KEY,
): Promise<string> => signTrustDocument(makeVendor(differing, root), root);

/** One vendor for all tests of a process, so that a reopened folder still trusts it. */
export const VENDOR = await createVendor();

/** Its root. */
export const VENDOR_KEY: PrivateKey = VENDOR.root;

/** Signs a license that answers a request, with the given differences. */
export async function answerRequest(
  requestDocument: string,
  license: number,
  differing: Partial<Terms> = {},
  documentChanges: Partial<LicenseDocument> = {},
  vendor: Pick<TestVendor, "id" | "issuing"> = VENDOR,
): Promise<string> {
  const verified = await verifyLicenseRequest(requestDocument);
  if (!verified.ok) throw new Error(`the request ${describeDocumentFault(verified.fault)}`);
  const { request_id, nonce, appliance, jwk, hardware_id, created_at } = verified.value;
  const binding = { request_id, nonce, appliance, cnf: { jwk }, hardware_id };
  const fields = { license_id: license, serial: 1, terms: toTermsDocument(terms(differing)) };
  const iat = Math.floor(Date.parse(created_at) / 1_000);
  const content = { iss: vendor.id, iat, ...fields, ...binding, ...documentChanges };
  return signLicense(content, vendor.issuing);
}

/** The request body that installs a license by code, confirmed for this activation code. */
export async function makeAirgapLicenseBody(
  activationCode: string,
  licenseKey: string,
  { id, issuing }: Pick<TestVendor, "id" | "issuing"> = VENDOR,
) {
  const activation = decodeActivationCode(activationCode);
  if (!activation.ok) throw new Error("not an activation code");
  const policy = { iss: id, iat: 0, policy_id: "P-1", terms: toTermsDocument(terms()) };
  const license_policy = await signPolicy(policy, issuing);
  const policyHash = sha256(license_policy);
  const claims = { activation: activation.value, licenseKey, policyHash, initializationCode: "" };
  const confirmation_code = await signConfirmationCode(
    claims,
    { validUntil: null, serial: 1 },
    issuing.key,
  );
  return { license_policy, license_key: licenseKey, policy_id: "P-1", confirmation_code };
}

/** Converts terms to their form in a signed document. */
export const toTermsDocument = (source: Terms): TermsDocument => ({
  product: source.product,
  product_name: source.productName,
  license_key: source.licenseKey,
  license_type: source.type,
  customer: source.customer,
  metadata: source.metadata,
  trial: source.trial,
  enabled: source.enabled,
  start: timeOf(source.start),
  valid_until: timeOf(source.validUntil),
  maintenance_until: timeOf(source.maintenanceUntil),
  grace_hours: source.graceHours,
  slots: source.slots,
  timeout_minutes: source.timeoutMinutes,
  borrow_hours: source.borrowHours,
  early_return: source.earlyReturn,
  move_grace_hours: source.moveGraceHours,
  ...(source.restoreGraceHours !== undefined && { restore_grace_hours: source.restoreGraceHours }),
  ...(source.reportEveryDays !== undefined && { report_every_days: source.reportEveryDays }),
  consumption: source.consumption && { ...source.consumption },
  features: source.features.map(({ floating, consumption, expires, ...feature }) => ({
    ...feature,
    expires: timeOf(expires),
    floating: floating && { slots: floating.slots, timeout_minutes: floating.timeoutMinutes },
    consumption: consumption && { ...consumption },
  })),
});

const timeOf = (at: Instant | null): string | null =>
  at === null ? null : new Date(at).toISOString();
