import { makeDecision, type Decision } from "../decision.ts";
import type { Fault } from "../fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { State, TrustedVendor } from "../state.ts";
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
  if (!isStillTrusted(state, vendor.vendor, checkedVersion))
    return err({ code: "untrusted_vendor" });
  if (current !== undefined && current.version > vendor.version) return makeDecision([], outcome);
  const others = [...state.vendors.values()].filter((other) => other.vendor !== vendor.vendor);
  const isProductTaken = vendor.products.some((product) =>
    others.some((other) => hasProduct(other, product)),
  );
  const keys = new Set(others.flatMap((other) => other.keys.map(({ x }) => x)));
  if (isProductTaken || vendor.keys.some(({ x }) => keys.has(x)))
    return err({ code: "untrusted_vendor" });
  return makeDecision([{ type: "VendorTrusted", at, vendor, peer }], outcome);
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
