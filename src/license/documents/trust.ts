import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { INVISIBLE } from "../../domain/text/invisible-characters.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { VendorKey } from "../../domain/model/state.ts";
import type { SigningKey } from "../../domain/trust/trust.ts";
import { readCertificateVendor, verifyCertificate, type KeyCertificate } from "./certificate.ts";
import {
  readDocumentHeader,
  readUnverifiedPayload,
  signDocument,
  verifyDocument,
} from "./document.ts";
import type { TrustFault, VendorDocumentFault } from "./document-fault.ts";
import type { CertifiedKind } from "./document-kinds.ts";
import { keyIdOf, parsePublicKey, publicPart, PublicKey, type PrivateKey } from "./keys.ts";

const Id = Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" });

export const MAX_RETIRED_KEYS = 256;
export const MAX_PRODUCTS = 1_000;
export const MAX_NAME_LENGTH = 256;
const MAX_TRUST_VERSION = 1_000_000;

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH });

/** Who a vendor is: what its root says in a trust document. Its id is that of the root. */
export const Vendor = Type.Object(
  {
    vendor: Id,
    name: Name,
    version: Type.Integer({ minimum: 1, maximum: MAX_TRUST_VERSION }),
    jwk: PublicKey,
    products: Type.Array(Name, { maxItems: MAX_PRODUCTS }),
    /** The ids of issuing keys from which nothing is accepted any more. */
    retired: Type.Array(Id, { maxItems: MAX_RETIRED_KEYS, uniqueItems: true }),
  },
  { additionalProperties: false },
);

export type Vendor = Static<typeof Vendor>;

export const signTrustDocument = (vendor: Vendor, root: PrivateKey): Promise<string> =>
  signDocument("trust", { ...vendor, jwk: publicPart(vendor.jwk) }, root);

/**
 * Verifies that the root in a trust document signed it. Who does not know the root compares its
 * fingerprint; who does compares the versions.
 */
export async function verifyTrustDocument(text: string): Promise<Result<Vendor, TrustFault>> {
  const header = readDocumentHeader(text);
  if (!header.ok) return header;
  if (header.value.kind !== "trust") return err({ wrong: "kind", kind: header.value.kind });
  const claimed = parseVendor(readUnverifiedPayload(text));
  if (claimed === null || claimed.vendor !== header.value.kid) return NO_TRUST_DOCUMENT;
  const verified = await verifyDocument("trust", text, claimed.jwk);
  if (!verified.ok) return verified;
  const vendor = parseVendor(verified.value);
  return vendor === null ? NO_TRUST_DOCUMENT : ok(vendor);
}

const NO_TRUST_DOCUMENT = err({ wrong: "content", expected: "trust" } as const);

function parseVendor(value: unknown): Vendor | null {
  if (!Value.Check(Vendor, value)) return null;
  const jwk = parsePublicKey(value.jwk);
  if (jwk === null || keyIdOf(jwk) !== value.vendor) return null;
  if ([value.name, ...value.products].some((text) => INVISIBLE.test(text))) return null;
  return { ...value, jwk };
}

/** The root of a vendor, as far as the verification of its documents needs it. */
export interface VendorRoot {
  readonly vendor: string;
  readonly jwk: VendorKey;
}

/** Who signed a document. Whether the key is still accepted is another question. */
export interface Signer {
  readonly vendor: VendorRoot;
  /** The issuing key. */
  readonly key: PublicKey;
  readonly certificate: KeyCertificate;
}

/** The same, as the rules need it. */
export const signingKeyOf = ({ vendor, key, certificate }: Signer): SigningKey => ({
  vendor: vendor.vendor,
  key: keyIdOf(key),
  trust: certificate.trust,
  until: certificate.until,
});

export interface VerifiedVendorDocument {
  readonly signer: Signer;
  readonly payload: unknown;
}

/**
 * Verifies that an issuing key of one of `vendors` signed a document: the root signed the
 * certificate in the header, and the key in the certificate the document. The caller must check
 * that the document names the same vendor, and decides whether the key is still accepted.
 */
export async function verifyVendorDocument(
  kind: CertifiedKind,
  document: string,
  vendors: readonly VendorRoot[],
): Promise<Result<VerifiedVendorDocument, VendorDocumentFault>> {
  const header = readDocumentHeader(document);
  if (!header.ok) return header;
  const { kid, cert } = header.value;
  if (header.value.kind !== kind) return err({ wrong: "kind", kind: header.value.kind });
  if (cert === null) return err({ wrong: "form" });
  const name = readCertificateVendor(cert);
  const vendor = vendors.find((candidate) => candidate.vendor === name);
  if (vendor === undefined) return err({ wrong: "signer" });
  const roots = vendors.map(({ jwk }) => jwk);
  const certificate = await verifyCertificate(cert, vendor, roots);
  if (!certificate.ok) return certificate;
  const key = publicPart(certificate.value.cnf.jwk);
  if (keyIdOf(key) !== kid) return err({ wrong: "certificate" });
  const verified = await verifyDocument(kind, document, key);
  if (!verified.ok) return verified;
  const signer = { vendor, key, certificate: certificate.value };
  return ok({ signer, payload: verified.value });
}
