import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault, TrustConflict } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State, TrustedVendor } from "../model/state.ts";
import { SECOND, type Instant } from "../time.ts";

/**
 * A signature is checked before the command is executed, with the keys that the vendor had then.
 * The check counts only while the vendor's document has the same version. Left out: no signature
 * was checked.
 */
export interface CheckedSignature {
  /** The version of the signing vendor's document; null: the vendor was not trusted yet. */
  readonly checkedVersion?: number | null;
}

type TrustDecision = Result<Decision<{ readonly vendor: string }>, Fault>;

/** A trust document whose signature was checked. */
export interface TrustVendor extends CheckedSignature {
  readonly type: "TrustVendor";
  readonly vendor: TrustedVendor;
  readonly peer: string;
}

/** Trusting the same document again changes nothing. A product belongs to one vendor. */
export function decideTrustVendor(
  state: State,
  { vendor, peer, checkedVersion }: TrustVendor,
  { at }: RuleContext,
): TrustDecision {
  const outcome = { vendor: vendor.vendor };
  const current = state.vendors.get(vendor.vendor);
  if (current?.version === vendor.version) return makeDecision([], outcome);
  if (!isStillTrusted(state, vendor.vendor, checkedVersion)) return err(TRUST_CHANGED);
  if (current !== undefined && current.version > vendor.version) return makeDecision([], outcome);
  const others = [...state.vendors.values()].filter((other) => other.vendor !== vendor.vendor);
  const conflict = findTrustConflict(others, vendor);
  if (conflict !== null) return err({ code: "untrusted_vendor", conflict });
  return makeDecision([{ type: "VendorTrusted", at, vendor, peer }], outcome);
}

/** A product and a key belong to one vendor. */
function findTrustConflict(
  others: readonly TrustedVendor[],
  { products, keys }: TrustedVendor,
): TrustConflict | null {
  const sameProduct = others.find((other) =>
    products.some((product) => hasProduct(other, product)),
  );
  if (sameProduct !== undefined) return { over: "product", vendor: sameProduct.vendor };
  const points = new Set(keys.map(({ x }) => x));
  const sameKey = others.find((other) => other.keys.some(({ x }) => points.has(x)));
  return sameKey === undefined ? null : { over: "key", vendor: sameKey.vendor };
}

export const TRUST_CHANGED = {
  code: "untrusted_vendor",
  conflict: { over: "version" },
} as const satisfies Fault;

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

/**
 * Whether the vendor's document is still the one that a signature was checked with: a newer one may
 * have retired the key.
 */
export const isStillTrusted = (
  state: State,
  vendor: string,
  checkedVersion: number | null | undefined,
): boolean =>
  checkedVersion === undefined || (state.vendors.get(vendor)?.version ?? null) === checkedVersion;

/**
 * Whether the key with this id is retired at `at`, so that documents signed with it are refused.
 */
export const isKeyRetired = (
  { retired = [] }: Pick<TrustedVendor, "retired">,
  key: string,
  at: Instant,
): boolean =>
  retired.some(
    (retiredKey) =>
      retiredKey.key === key && (retiredKey.from === undefined || retiredKey.from * SECOND <= at),
  );

export const hasProduct = ({ products }: TrustedVendor, product: string): boolean =>
  products.includes(product);
