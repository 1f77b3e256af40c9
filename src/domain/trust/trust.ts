import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault, TrustConflict } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { SignedTrust, State, TrustedVendor } from "../model/state.ts";
import { instant, SECOND, type Instant } from "../time.ts";

type TrustDecision = Result<Decision<{ readonly vendor: string }>, Fault>;

/** A trust document that was verified: its root signed it. */
export interface TrustVendor {
  readonly type: "TrustVendor";
  readonly trust: SignedTrust;
  readonly peer: string;
}

/**
 * The first document of a vendor is trusted because a person compared the fingerprint of its root,
 * a newer one because the root signed it. The same document again changes nothing.
 */
export function decideTrustVendor(
  state: State,
  { trust, peer }: TrustVendor,
  { at }: RuleContext,
): TrustDecision {
  const outcome = { vendor: trust.vendor };
  const current = state.vendors.get(trust.vendor) ?? null;
  if (current?.document === trust.document) return makeDecision([], outcome);
  const known = current ?? state.retiredKeys.get(trust.vendor) ?? null;
  if (known !== null && known.jwk.x !== trust.jwk.x)
    return err({ code: "root_changed", vendor: trust.vendor });
  // No root issues licenses: each start would refuse the license, and the folder with it.
  const signed = [...state.licenses.values()].find(({ grant }) => grant.key === trust.vendor);
  if (signed !== undefined)
    return err({ code: "untrusted_vendor", conflict: { over: "key", license: signed.id } });
  // After its removal, the same document may be installed again.
  const isOlder =
    known !== null &&
    (trust.version < known.version || (trust.version === known.version && trust.sum !== known.sum));
  if (isOlder) return err({ code: "trust_older", version: known.version });
  const others = [...state.vendors.values()].filter((other) => other.vendor !== trust.vendor);
  const ofOthers = trust.products.filter((product) =>
    others.some((other) => hasProduct(other, product)),
  );
  if (current === null && ofOthers.length > 0) {
    const conflict = findConflict(others, ofOthers);
    return err({ code: "untrusted_vendor", ...(conflict !== null && { conflict }) });
  }
  const vendor: TrustedVendor = {
    ...trust,
    // A retirement must take effect whatever else the document says.
    products: trust.products.filter((product) => !ofOthers.includes(product)),
    notice: current && { at, changes: describeChanges(current, trust, ofOthers) },
  };
  return makeDecision([{ type: "VendorTrusted", at, vendor, peer }], outcome);
}

const findConflict = (
  others: readonly TrustedVendor[],
  products: readonly string[],
): TrustConflict | null => {
  const owner = others.find((other) => products.some((product) => hasProduct(other, product)));
  return owner === undefined ? null : { over: "product", vendor: owner.vendor };
};

/** What an operator should know of a newer document, which nobody may have looked at. */
function describeChanges(
  before: TrustedVendor,
  { name, products, retired }: SignedTrust,
  ofOthers: readonly string[],
): string[] {
  const newlyRetired = retired.filter((key) => !before.retired.includes(key));
  const dropped = before.products.filter((product) => !products.includes(product));
  return [
    ...newlyRetired.map((key) => `it retired the key ${key}`),
    ...dropped.map((product) => `it no longer licenses ${product}`),
    ...ofOthers.map((product) => `${product} belongs to another vendor here`),
    ...(name === before.name ? [] : [`its name was ${before.name}`]),
  ];
}

export interface DistrustVendor {
  readonly type: "DistrustVendor";
  readonly vendor: string;
  readonly peer: string;
}

/**
 * Refused while licenses of the vendor are installed: every installed license has a trusted vendor.
 */
export function decideDistrustVendor(
  state: State,
  { vendor, peer }: DistrustVendor,
  { at }: RuleContext,
): TrustDecision {
  if (!state.vendors.has(vendor)) return err({ code: "unknown_vendor" });
  const licenses = [...state.licenses.values()].filter(({ grant }) => grant.vendor === vendor);
  if (licenses.length > 0) return err({ code: "vendor_in_use", licenses: licenses.length });
  return makeDecision([{ type: "VendorDistrusted", at, vendor, peer }], { vendor });
}

/** The issuing key that signed a document, by a certificate of its vendor's root. */
export interface SigningKey {
  readonly vendor: string;
  /** The key's id. */
  readonly key: string;
  /** The version of the vendor's trust document when the certificate was made. */
  readonly trust: number;
  /** When the key ends, in seconds since 1970. */
  readonly until: number;
}

/**
 * Why documents of a key are not accepted at `at`; null: they are. A site that has not seen the
 * trust document of the certificate may not know which keys are retired.
 */
export function findKeyFault(
  state: Pick<State, "vendors" | "retiredKeys">,
  { vendor, key, trust, until }: SigningKey,
  at: Instant,
): Fault | null {
  const trusted = state.vendors.get(vendor);
  if (trusted === undefined) return { code: "untrusted_vendor" };
  if (trusted.version < trust)
    return { code: "trust_outdated", vendor: trusted.name, version: trust };
  if (isKeyRetired(state, vendor, key)) return { code: "retired_key", vendor: trusted.name, key };
  const end = instant(until * SECOND);
  return at >= end ? { code: "key_ended", vendor: trusted.name, end, at } : null;
}

/** Whether a vendor's root has ever retired the key, as far as this site knows. */
export const isKeyRetired = (
  { retiredKeys }: Pick<State, "retiredKeys">,
  vendor: string,
  key: string,
): boolean => retiredKeys.get(vendor)?.keys.includes(key) === true;

export const hasProduct = ({ products }: TrustedVendor, product: string): boolean =>
  products.includes(product);
