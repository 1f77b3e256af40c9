import type { State } from "./state.ts";
import { hasProduct } from "./trust.ts";

const MOST_NAMED = 20;

/** What may keep a vendor's answer to a request from coming in: told before it is carried away. */
export function findRequestWarnings({ vendors }: State, product: string | null): string[] {
  const trusted = [...vendors.values()];
  if (trusted.length === 0) {
    return ["no vendor is trusted yet; add the vendor's trust document with berth trust add"];
  }
  if (product === null || trusted.some((vendor) => hasProduct(vendor, product))) return [];
  const products = trusted.flatMap((vendor) => vendor.products);
  const others = products.length === 0 ? "none" : formatShortList(products);
  return [`no trusted vendor licenses ${product}; they license ${others}`];
}

/** No longer than can be read. */
export function formatShortList(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  const named = names.slice(0, MOST_NAMED).join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
}
