// A vendor with a real key, who answers whatever is asked.
import type { Terms } from "../../src/domain/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { signConfirmationCode, decodeActivationCode } from "../../src/license/confirmation.ts";
import { keyIdOf, generateKey, publicPart } from "../../src/license/keys.ts";
import { signLicense, type LicenseDocument } from "../../src/license/license.ts";
import { signPolicy } from "../../src/license/policy.ts";
import { verifyLicenseRequest } from "../../src/license/request.ts";
import type { TermsDocument } from "../../src/license/terms.ts";
import { signTrustDocument, type Vendor } from "../../src/license/trust.ts";
import { sha256 } from "../../src/platform/hash.ts";
import { terms } from "./scenario.ts";

/** One for all tests of a process, so that a folder opened again knows it. */
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

/** A trust document; what differs is put there before it is signed. */
export const makeTrustDocument = (
  differing: Partial<Vendor> = {},
  key = VENDOR_KEY,
): Promise<string> => signTrustDocument(makeVendor(differing, key), key);

/** A license in answer to a request; what differs is put there before it is signed. */
export async function answerRequest(
  requestDocument: string,
  license: number,
  differing: Partial<Terms> = {},
  about: Partial<LicenseDocument> = {},
  key = VENDOR_KEY,
): Promise<string> {
  const verified = await verifyLicenseRequest(requestDocument);
  if (!verified.ok) throw new Error(`the request ${verified.fault}`);
  const { request_id, nonce, appliance, jwk, hardware_id, created_at } = verified.value;
  const bound = { request_id, nonce, appliance, cnf: { jwk }, hardware_id };
  const named = { license_id: license, serial: 1, terms: toTermsDocument(terms(differing)) };
  const iat = Math.floor(Date.parse(created_at) / 1_000);
  return signLicense({ iss: keyIdOf(key), iat, ...named, ...bound, ...about }, key);
}

/** What a site sends in that read its activation code out and was told this one. */
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
  const named = { activation: activation.value, licenseKey, policyHash, initializationCode: "" };
  const confirmation_code = await signConfirmationCode(
    named,
    { validUntil: null, serial: 1 },
    VENDOR_KEY,
  );
  return { license_policy, license_key: licenseKey, policy_id: "P-1", confirmation_code };
}

/** Terms as a document says them. */
export const toTermsDocument = (of: Terms): TermsDocument => ({
  product: of.product,
  product_name: of.productName,
  license_key: of.licenseKey,
  license_type: of.type,
  customer: of.customer,
  metadata: of.metadata,
  trial: of.trial,
  enabled: of.enabled,
  start: timeOf(of.start),
  valid_until: timeOf(of.validUntil),
  maintenance_until: timeOf(of.maintenanceUntil),
  grace_hours: of.graceHours,
  slots: of.slots,
  timeout_minutes: of.timeoutMinutes,
  borrow_hours: of.borrowHours,
  early_return: of.earlyReturn,
  move_grace_hours: of.moveGraceHours,
  consumption: of.consumption && { ...of.consumption },
  features: of.features.map(({ floating, consumption, expires, ...feature }) => ({
    ...feature,
    expires: timeOf(expires),
    floating: floating && { slots: floating.slots, timeout_minutes: floating.timeoutMinutes },
    consumption: consumption && { ...consumption },
  })),
});

const timeOf = (at: Instant | null): string | null =>
  at === null ? null : new Date(at).toISOString();
