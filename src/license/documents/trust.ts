import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Instant } from "../../domain/time.ts";
import { INVISIBLE } from "../../domain/text/invisible-characters.ts";
import { isKeyRetired } from "../../domain/trust/trust.ts";
import {
  readDocumentHeader,
  signDocument,
  readUnverifiedPayload,
  verifyDocument,
} from "./document.ts";
import type { TrustFault, VendorDocumentFault } from "./document-fault.ts";
import type { DocumentKind } from "./document-kinds.ts";
import { keyIdOf, parsePublicKey, publicPart, PublicKey, type PrivateKey } from "./keys.ts";

const Id = Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" });

/** A retired key, like `RetiredKey` in the state; `from` is in seconds, like `iat`. */
const Retired = Type.Object(
  { key: Id, from: Type.Optional(Type.Integer({ minimum: 0, maximum: 253_402_300_799 })) },
  { additionalProperties: false },
);

export const MAX_KEYS = 64;
export const MAX_PRODUCTS = 1_000;
export const MAX_NAME_LENGTH = 256;

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH });

/**
 * A vendor as stored by an appliance. Its id is that of its first key and stays when keys change. A
 * new key is added by a document of a higher version, signed with a key that is already trusted.
 */
export const Vendor = Type.Object(
  {
    vendor: Id,
    name: Name,
    version: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    products: Type.Array(Name, { maxItems: MAX_PRODUCTS }),
    keys: Type.Array(PublicKey, { minItems: 1, maxItems: MAX_KEYS }),
    retired: Type.Optional(Type.Array(Retired, { minItems: 1, maxItems: MAX_KEYS })),
  },
  { additionalProperties: false },
);

export type Vendor = Static<typeof Vendor>;

export const signTrustDocument = (vendor: Vendor, key: PrivateKey): Promise<string> =>
  signDocument("trust", { ...vendor, keys: vendor.keys.map(publicPart) }, key);

/**
 * Verifies a trust document. If `findTrusted` returns the vendor, one of its keys must have signed.
 * A new vendor signs its own document, and a person compares the fingerprint.
 */
export async function verifyTrustDocument(
  text: string,
  findTrusted: (vendor: string) => Vendor | null,
): Promise<Result<Vendor, TrustFault>> {
  const header = readDocumentHeader(text);
  if (!header.ok) return header;
  const claimed = parseVendor(readUnverifiedPayload(text));
  if (header.value.kind !== "trust") return err({ wrong: "kind", kind: header.value.kind });
  if (claimed === null) return err({ wrong: "content", expected: "trust" });
  const trusted = findTrusted(claimed.vendor);
  const keys = trusted === null ? claimed.keys.slice(0, 1) : trusted.keys;
  const signer = keys.find((key) => keyIdOf(key) === header.value.kid);
  // The id of a vendor is that of its first key: a new vendor cannot claim the id of another.
  const first = claimed.keys[0];
  if (trusted === null && (first === undefined || keyIdOf(first) !== claimed.vendor)) {
    return claimed.version > 1
      ? err({ wrong: "unknown_vendor" })
      : err({ wrong: "content", expected: "trust" });
  }
  if (signer === undefined) return err(unknownSigner(claimed, trusted));
  const verified = await verifyDocument("trust", text, signer);
  if (!verified.ok) return verified;
  const vendor = parseVendor(verified.value);
  if (vendor === null) return err({ wrong: "content", expected: "trust" });
  if (trusted !== null && isSame(vendor, trusted)) return ok(vendor);
  // A retired key may sign licenses until its retirement takes effect, but no trust document: a
  // thief of the key must not be able to undo the retirement.
  if (trusted?.retired?.some(({ key }) => key === header.value.kid) === true) {
    return err({ wrong: "retired_key" });
  }
  const isNewer = trusted === null || vendor.version > trusted.version;
  if (!isNewer) return err({ wrong: "outdated" });
  return ok(vendor);
}

/** A signature by an unknown key: of a later version, if the document in between is missing. */
function unknownSigner(claimed: Vendor, trusted: Vendor | null): TrustFault {
  const next = (trusted?.version ?? claimed.version) + 1;
  return claimed.version > next ? { wrong: "skipped_version", next } : { wrong: "signature" };
}

function parseVendor(value: unknown): Vendor | null {
  if (!Value.Check(Vendor, value)) return null;
  // The newest key signs the next documents: a vendor that retired it could sign nothing any more.
  const [newest] = value.keys;
  if (newest !== undefined && value.retired?.some(({ key }) => key === keyIdOf(newest)))
    return null;
  if (value.products.some((code) => INVISIBLE.test(code))) return null;
  return value.keys.every((key) => parsePublicKey(key) !== null)
    ? { ...value, keys: value.keys.map(publicPart) }
    : null;
}

const isSame = (a: Vendor, b: Vendor): boolean =>
  a.version === b.version &&
  a.name === b.name &&
  Bun.deepEquals(a.products, b.products) &&
  Bun.deepEquals(a.keys.map(publicPart), b.keys.map(publicPart)) &&
  Bun.deepEquals(a.retired ?? [], b.retired ?? []);

export interface VerifiedVendorDocument {
  readonly vendor: Vendor;
  readonly key: PublicKey;
  readonly payload: unknown;
}

/**
 * Verifies that one of `vendors` signed a document. The caller must check that the document names
 * the same vendor. A document received now, `at`, must not be signed with a key retired by then;
 * null skips that check, for documents received earlier and for the desk's own.
 */
export async function verifyVendorDocument(
  kind: DocumentKind,
  document: string,
  vendors: readonly Vendor[],
  at: Instant | null,
): Promise<Result<VerifiedVendorDocument, VendorDocumentFault>> {
  const header = readDocumentHeader(document);
  if (!header.ok) return header;
  if (header.value.kind !== kind) return err({ wrong: "kind", kind: header.value.kind });
  for (const vendor of vendors) {
    const key = vendor.keys.find((candidate) => keyIdOf(candidate) === header.value.kid);
    if (key === undefined) continue;
    const verified = await verifyDocument(kind, document, key);
    if (!verified.ok) return verified;
    if (at !== null && isKeyRetired(vendor, keyIdOf(key), at)) return err({ wrong: "retired_key" });
    return ok({ vendor, key, payload: verified.value });
  }
  return err({ wrong: "signer" });
}
