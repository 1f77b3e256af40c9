import type { DistrustVendor, TrustVendor } from "./command.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { Fault } from "./fault.ts";
import { err, type Result } from "./result.ts";
import type { State, TrustedVendor } from "./state.ts";
import { SECOND, type Instant } from "./time.ts";

type TrustDecision = Result<Decision<{ readonly vendor: string }>, Fault>;

/** The same document again changes nothing; a product belongs to one vendor. */
export function decideTrustVendor(
  state: State,
  { vendor, peer, checkedVersion }: TrustVendor,
  at: Instant,
): TrustDecision {
  const outcome = { vendor: vendor.vendor };
  const known = state.vendors.get(vendor.vendor);
  if (known?.version === vendor.version) return makeDecision([], outcome);
  if (!isStillTrusted(state, vendor.vendor, checkedVersion))
    return err({ code: "untrusted_vendor" });
  if (known !== undefined && known.version > vendor.version) return makeDecision([], outcome);
  const others = [...state.vendors.values()].filter((other) => other.vendor !== vendor.vendor);
  const taken = vendor.products.some((product) =>
    others.some((other) => hasProduct(other, product)),
  );
  const keys = new Set(others.flatMap((other) => other.keys.map(({ x }) => x)));
  if (taken || vendor.keys.some(({ x }) => keys.has(x))) return err({ code: "untrusted_vendor" });
  return makeDecision([{ type: "VendorTrusted", at, vendor, peer }], outcome);
}

/** Not while licenses of theirs are installed: nothing here is without a vendor who is trusted. */
export function decideDistrustVendor(
  state: State,
  { vendor, peer }: DistrustVendor,
  at: Instant,
): TrustDecision {
  if (!state.vendors.has(vendor)) return err({ code: "unknown_vendor" });
  const licenses = [...state.licenses.values()].filter(({ grant }) => grant.vendor === vendor);
  if (licenses.length > 0) return err({ code: "vendor_in_use", licenses: licenses.length });
  return makeDecision([{ type: "VendorDistrusted", at, vendor, peer }], { vendor });
}

/**
 * Whether a vendor's document is still the one that a signature was checked with: another one may
 * have retired the key since.
 */
export const isStillTrusted = (
  state: State,
  vendor: string,
  checkedVersion: number | null | undefined,
): boolean =>
  checkedVersion === undefined || (state.vendors.get(vendor)?.version ?? null) === checkedVersion;

/** Whether a document signed with this key, by the key's id, is too late to come in. */
export const isKeyRetired = (
  { retired = [] }: Pick<TrustedVendor, "retired">,
  key: string,
  at: Instant,
): boolean =>
  retired.some((one) => one.key === key && (one.from === undefined || one.from * SECOND <= at));

export const hasProduct = ({ products }: TrustedVendor, product: string): boolean =>
  products.includes(product);
