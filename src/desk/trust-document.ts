import { INVISIBLE } from "../domain/text/invisible-characters.ts";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import type { PrivateKey } from "../license/documents/keys.ts";
import {
  MAX_NAME_LENGTH,
  MAX_PRODUCTS,
  MAX_RETIRED_KEYS,
  signTrustDocument,
  verifyTrustDocument,
  type Vendor,
} from "../license/documents/trust.ts";
import { DeskRefused } from "./desk-refused.ts";

export const TRUST_FILE = "trust.jwt";

/** A trust document that was verified. */
export interface TrustDocument {
  readonly vendor: Vendor;
  readonly document: string;
}

/** Reads a trust document; `what` names it in the refusal. */
export async function readTrustDocument(text: string, what: string): Promise<TrustDocument> {
  const document = text.trim();
  const verified = await verifyTrustDocument(document);
  if (verified.ok) return { vendor: verified.value, document };
  throw new DeskRefused(
    `${what} ${describeDocumentFault(verified.fault)}`,
    "copy it from the folder of the root, or from a site or medium that it was distributed to",
  );
}

/** Verifies the document too: one that sites and desk refuse would make the vendor unusable. */
export async function signCheckedTrust(vendor: Vendor, root: PrivateKey): Promise<TrustDocument> {
  if (vendor.products.length > MAX_PRODUCTS) {
    throw new DeskRefused(
      `a vendor can have at most ${MAX_PRODUCTS} products`,
      "create another vendor with berth vendor init",
    );
  }
  if ([vendor.name, ...vendor.products].some((text) => text.length > MAX_NAME_LENGTH)) {
    throw new DeskRefused(
      `a name or a product code has more than ${MAX_NAME_LENGTH} characters`,
      "choose a shorter one",
    );
  }
  if ([vendor.name, ...vendor.products].some((text) => INVISIBLE.test(text))) {
    throw new DeskRefused(
      "a name or a product code contains a line break or another invisible character",
      "choose one that can be typed, such as Acme or CAD",
    );
  }
  if (vendor.retired.length > MAX_RETIRED_KEYS) {
    throw new DeskRefused(
      `a trust document can retire at most ${MAX_RETIRED_KEYS} keys`,
      "keys that have ended need no retirement",
    );
  }
  const document = await signTrustDocument(vendor, root);
  const verified = await verifyTrustDocument(document);
  if (verified.ok) return { vendor: verified.value, document };
  throw new DeskRefused(
    `sites would not accept the trust document: it ${describeDocumentFault(verified.fault)}`,
    "a document holds at most 48 KiB: use fewer products or shorter codes",
  );
}
