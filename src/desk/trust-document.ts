import type { PrivateKey } from "../license/keys.ts";
import { LONGEST_NAME, MOST_KEYS, MOST_PRODUCTS } from "../license/trust.ts";
import { signTrust, verifyTrust, type Vendor } from "../license/trust.ts";
import { DeskRefused } from "./refusal.ts";

/** Sites check installed licenses at each start, so no key that signed any can be left out. */
export function refuseAnotherKey({ keys }: Vendor): void {
  if (keys.length < MOST_KEYS) return;
  throw new DeskRefused(
    `a desk can have at most ${MOST_KEYS} keys, and this one has ${keys.length}`,
    "sites need all of them for installed licenses: create a new desk with berth vendor init",
  );
}

/** Signs only what can be read: a document that nobody takes would lock the desk for good. */
export async function signReadableTrust(
  vendor: Vendor,
  key: PrivateKey,
  before: Vendor | null,
): Promise<string> {
  if (vendor.products.length > MOST_PRODUCTS) {
    throw new DeskRefused(
      `a desk can have at most ${MOST_PRODUCTS} products`,
      "create another desk",
    );
  }
  if ([vendor.name, ...vendor.products].some((text) => text.length > LONGEST_NAME)) {
    throw new DeskRefused(
      `a name or a product code has more than ${LONGEST_NAME} characters`,
      "choose a shorter one",
    );
  }
  const document = await signTrust(vendor, key);
  const verified = await verifyTrust(document, () => before);
  if (verified.ok) return document;
  throw new DeskRefused(
    `sites would not accept the trust document: it ${verified.fault}`,
    "a document holds at most 48 KiB: use fewer products or shorter codes",
  );
}
