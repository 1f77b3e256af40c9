import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import { MAX_CERTIFICATE, readDocumentHeader, signDocument, verifyDocument } from "./document.ts";
import { keyIdOf, parsePublicKey, publicPart, PublicKey, type PrivateKey } from "./keys.ts";

const Seconds = Type.Integer({ minimum: 0, maximum: 253_402_300_799 });

/**
 * The vendor's root says that a key issues licenses for it, from `iat` until before `until`. Never
 * `exp`: JWT libraries would refuse an installed license when its key has ended.
 */
const KeyCertificate = Type.Object(
  {
    iss: Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" }),
    iat: Seconds,
    until: Seconds,
    cnf: Type.Object({ jwk: PublicKey }, { additionalProperties: false }),
    /** The version of the vendor's trust document when the certificate was made. */
    trust: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  },
  { additionalProperties: false },
);

export type KeyCertificate = Static<typeof KeyCertificate>;

/** The vendor whose root signs certificates. */
interface RootOwner {
  readonly vendor: string;
  readonly jwk: PublicKey;
}

export const signCertificate = (content: KeyCertificate, root: PrivateKey): Promise<string> =>
  signDocument("key", { ...content, cnf: { jwk: publicPart(content.cnf.jwk) } }, root);

/** The id of the vendor that a certificate names: for lookup only, it proves nothing. */
export function readCertificateVendor(text: string): string | null {
  const header = text.length > MAX_CERTIFICATE ? null : readDocumentHeader(text);
  return header?.ok === true && header.value.kind === "key" ? header.value.kid : null;
}

/**
 * Verifies that the root of a vendor signed the certificate of an issuing key. `roots` are those of
 * all trusted vendors: none of them issues licenses, its own neither.
 */
export async function verifyCertificate(
  text: string,
  { vendor, jwk: root }: RootOwner,
  roots: readonly PublicKey[],
): Promise<Result<KeyCertificate, { readonly wrong: "certificate" }>> {
  const refused = err({ wrong: "certificate" } as const);
  if (readCertificateVendor(text) !== vendor || keyIdOf(root) !== vendor) return refused;
  const verified = await verifyDocument("key", text, root);
  if (!verified.ok || !Value.Check(KeyCertificate, verified.value)) return refused;
  const certificate = verified.value;
  const key = parsePublicKey(certificate.cnf.jwk);
  const isRoot = [root, ...roots].some(({ x }) => x === key?.x);
  const isValid =
    key !== null && !isRoot && certificate.iss === vendor && certificate.iat < certificate.until;
  return isValid ? ok(certificate) : refused;
}
