import type { DistrustVendor, TrustVendor } from "./command.ts";
import { decided, type Decision } from "./decision.ts";
import type { Fault } from "./fault.ts";
import { no, type Result } from "./result.ts";
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
  if (known?.version === vendor.version) return decided([], outcome);
  if (!isStillTrusted(state, vendor.vendor, checkedVersion))
    return no({ code: "untrusted_vendor" });
  if (known !== undefined && known.version > vendor.version) return decided([], outcome);
  const others = [...state.vendors.values()].filter((other) => other.vendor !== vendor.vendor);
  const taken = vendor.products.some((product) => others.some((other) => claims(other, product)));
  const keys = new Set(others.flatMap((other) => other.keys.map(({ x }) => x)));
  if (taken || vendor.keys.some(({ x }) => keys.has(x))) return no({ code: "untrusted_vendor" });
  return decided([{ type: "VendorTrusted", at, vendor, peer }], outcome);
}

/** Not while licenses of theirs are installed: nothing here is without a vendor who is trusted. */
export function decideDistrustVendor(
  state: State,
  { vendor, peer }: DistrustVendor,
  at: Instant,
): TrustDecision {
  if (!state.vendors.has(vendor)) return no({ code: "unknown_vendor" });
  const licenses = [...state.licenses.values()].filter(({ grant }) => grant.vendor === vendor);
  if (licenses.length > 0) return no({ code: "vendor_in_use", licenses: licenses.length });
  return decided([{ type: "VendorDistrusted", at, vendor, peer }], { vendor });
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
export const isRetired = (
  { retired = [] }: Pick<TrustedVendor, "retired">,
  key: string,
  at: Instant,
): boolean =>
  retired.some((one) => one.key === key && (one.from === undefined || one.from * SECOND <= at));

export const claims = ({ products }: TrustedVendor, product: string): boolean =>
  products.includes(product);
