// A vendor with a real key that signs whatever a test needs.
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { describeDocumentFault } from "../../src/license/documents/document-fault.ts";
import {
  signConfirmationCode,
  decodeActivationCode,
} from "../../src/license/codes/confirmation.ts";
import { keyIdOf, generateKey, publicPart } from "../../src/license/documents/keys.ts";
import { signLicense, type LicenseDocument } from "../../src/license/documents/license.ts";
import { signPolicy } from "../../src/license/terms/policy.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import type { TermsDocument } from "../../src/license/terms/terms.ts";
import { signTrustDocument, type Vendor } from "../../src/license/documents/trust.ts";
import { sha256 } from "../../src/platform/crypto/hash.ts";
import { terms } from "./scenario.ts";

/** One key for all tests of a process, so that a reopened folder still trusts it. */
export const VENDOR_KEY = await generateKey();

export const VENDOR_PRODUCTS = ["cad", "cam", "DEMO"];

export const makeVendor = (differing: Partial<Vendor> = {}, key = VENDOR_KEY): Vendor => ({
  vendor: keyIdOf(key),
  name: "Initrode",
  version: 1,
  products: VENDOR_PRODUCTS,
  keys: [publicPart(key)],
  ...differing,
});

/** Signs a trust document with the given differences. */
export const makeTrustDocument = (
  differing: Partial<Vendor> = {},
  key = VENDOR_KEY,
): Promise<string> => signTrustDocument(makeVendor(differing, key), key);

/** Signs a license that answers a request, with the given differences. */
export async function answerRequest(
  requestDocument: string,
  license: number,
  differing: Partial<Terms> = {},
  documentChanges: Partial<LicenseDocument> = {},
  key = VENDOR_KEY,
): Promise<string> {
  const verified = await verifyLicenseRequest(requestDocument);
  if (!verified.ok) throw new Error(`the request ${describeDocumentFault(verified.fault)}`);
  const { request_id, nonce, appliance, jwk, hardware_id, created_at } = verified.value;
  const binding = { request_id, nonce, appliance, cnf: { jwk }, hardware_id };
  const fields = { license_id: license, serial: 1, terms: toTermsDocument(terms(differing)) };
  const iat = Math.floor(Date.parse(created_at) / 1_000);
  return signLicense({ iss: keyIdOf(key), iat, ...fields, ...binding, ...documentChanges }, key);
}

/** The request body that installs a license by code, confirmed for this activation code. */
export async function makeAirgapLicenseBody(activationCode: string, licenseKey: string) {
  const activation = decodeActivationCode(activationCode);
  if (!activation.ok) throw new Error("not an activation code");
  const policy = {
    iss: keyIdOf(VENDOR_KEY),
    iat: 0,
    policy_id: "P-1",
    terms: toTermsDocument(terms()),
  };
  const license_policy = await signPolicy(policy, VENDOR_KEY);
  const policyHash = sha256(license_policy);
  const claims = { activation: activation.value, licenseKey, policyHash, initializationCode: "" };
  const confirmation_code = await signConfirmationCode(
    claims,
    { validUntil: null, serial: 1 },
    VENDOR_KEY,
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
