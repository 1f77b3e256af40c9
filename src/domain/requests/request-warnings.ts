import type { State } from "../model/state.ts";
import { hasProduct } from "../trust/trust.ts";

const MAX_NAMES = 20;

/**
 * Reasons why the vendor's answer to a request could not be installed, shown before the request is
 * sent.
 */
export function findRequestWarnings({ vendors }: State, product: string | null): string[] {
  const trustedVendors = [...vendors.values()];
  if (trustedVendors.length === 0) {
    return ["no vendor is trusted yet; add the vendor's trust document with berth trust add"];
  }
  if (product === null || trustedVendors.some((vendor) => hasProduct(vendor, product))) return [];
  const products = trustedVendors.flatMap((vendor) => vendor.products);
  const licensed = products.length === 0 ? "none" : formatShortList(products);
  return [`no trusted vendor licenses ${product}; they license ${licensed}`];
}

/** A list of names, cut to a readable length. */
export function formatShortList(names: readonly string[]): string {
  const omitted = names.length - MAX_NAMES;
  const shown = names.slice(0, MAX_NAMES).join(", ");
  return omitted > 0 ? `${shown} and ${omitted} more` : shown;
}
