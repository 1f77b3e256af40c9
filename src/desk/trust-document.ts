import { INVISIBLE } from "../domain/text/invisible-characters.ts";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import type { PrivateKey } from "../license/documents/keys.ts";
import { MAX_NAME_LENGTH, MAX_KEYS, MAX_PRODUCTS } from "../license/documents/trust.ts";
import { signTrustDocument, verifyTrustDocument, type Vendor } from "../license/documents/trust.ts";
import { DeskRefused } from "./desk-refused.ts";

/** Sites verify installed licenses at each start, so no key that signed one can be dropped. */
export function refuseTooManyKeys({ keys }: Vendor): void {
  if (keys.length < MAX_KEYS) return;
  throw new DeskRefused(
    `a desk can have at most ${MAX_KEYS} keys, and this one has ${keys.length}`,
    "sites need all of them for installed licenses: create a new desk with berth vendor init",
  );
}

/** Verifies the document too: one that sites and desk refuse would make the desk unusable. */
export async function signCheckedTrustDocument(
  vendor: Vendor,
  key: PrivateKey,
  before: Vendor | null,
): Promise<string> {
  if (vendor.products.length > MAX_PRODUCTS) {
    throw new DeskRefused(
      `a desk can have at most ${MAX_PRODUCTS} products`,
      "create another desk",
    );
  }
  if ([vendor.name, ...vendor.products].some((text) => text.length > MAX_NAME_LENGTH)) {
    throw new DeskRefused(
      `a name or a product code has more than ${MAX_NAME_LENGTH} characters`,
      "choose a shorter one",
    );
  }
  if (vendor.products.some((code) => INVISIBLE.test(code))) {
    throw new DeskRefused(
      "a product code contains a line break or another invisible character",
      "choose a code that can be typed, such as CAD",
    );
  }
  const document = await signTrustDocument(vendor, key);
  const verified = await verifyTrustDocument(document, () => before);
  if (verified.ok) return document;
  throw new DeskRefused(
    `sites would not accept the trust document: it ${describeDocumentFault(verified.fault)}`,
    "a document holds at most 48 KiB: use fewer products or shorter codes",
  );
}
