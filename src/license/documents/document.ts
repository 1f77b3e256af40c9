import {
  base64url,
  CompactSign,
  compactVerify,
  importJWK,
  type CompactJWSHeaderParameters,
} from "jose";
import { err, ok, type Result } from "../../domain/result.ts";
import type { DocumentFault } from "./document-fault.ts";
import {
  DOCUMENT_KINDS,
  isCertified,
  type CertifiedKind,
  type DocumentKind,
} from "./document-kinds.ts";
import { keyIdOf, parsePublicKey, publicPart, type PrivateKey, type PublicKey } from "./keys.ts";

/** More than any document needs, and small enough to parse safely. */
export const MAX_DOCUMENT = 48 * 1024;

export interface DocumentHeader {
  readonly kind: DocumentKind;
  /** The id of the signing key as the document claims it: for lookup only, it proves nothing. */
  readonly kid: string;
  /** The certificate of the signing key, of which only the length and the parts were checked. */
  readonly cert: string | null;
}

/** An issuing key of a vendor, with the root's certificate for it. */
export interface IssuingKey {
  readonly key: PrivateKey;
  readonly cert: string;
}

/** Signs a payload as a compact JWS, so that any JWT library can check it. */
export const signDocument = (
  kind: Exclude<DocumentKind, CertifiedKind>,
  payload: object,
  key: PrivateKey,
): Promise<string> => sign(payload, key, headerOf(kind, keyIdOf(key), null));

/** Signs a document of a vendor with an issuing key. */
export const signCertified = (
  kind: CertifiedKind,
  payload: object,
  { key, cert }: IssuingKey,
): Promise<string> => sign(payload, key, headerOf(kind, keyIdOf(key), cert));

const sign = async (
  payload: object,
  key: PrivateKey,
  header: CompactJWSHeaderParameters,
): Promise<string> =>
  new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader(header)
    .sign(await importJWK(key, "EdDSA"));

const headerOf = (kind: DocumentKind, kid: string, cert: string | null) => ({
  alg: "EdDSA",
  typ: typOf(kind),
  kid,
  ...(cert !== null && { cert }),
});

/** Verifies the signature first, then parses exactly the verified bytes. */
export async function verifyDocument(
  kind: DocumentKind,
  text: string,
  key: PublicKey,
): Promise<Result<unknown, DocumentFault>> {
  const header = readDocumentHeader(text);
  if (!header.ok) return header;
  if (header.value.kind !== kind) return err({ wrong: "kind", kind: header.value.kind });
  // Any signature verifies under a low-order key: it must be rejected here at the latest.
  if (parsePublicKey(key) === null) return err({ wrong: "signature" });
  try {
    const options = { algorithms: ["EdDSA"] };
    const { payload } = await compactVerify(
      text,
      await importJWK(publicPart(key), "EdDSA"),
      options,
    );
    return ok(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload)));
  } catch {
    return err({ wrong: "signature" });
  }
}

/** Reads the header without verifying it: its claims are not trusted yet. */
export function readDocumentHeader(text: string): Result<DocumentHeader, DocumentFault> {
  if (text.length > MAX_DOCUMENT) return err({ wrong: "size" });
  const parts = text.split(".");
  if (parts.length !== 3 || !parts.every(isCanonical)) return err({ wrong: "form" });
  const header = parseObject(parts[0] ?? "");
  const { alg, typ, kid, cert, ...more } = header ?? {};
  const kind = DOCUMENT_KINDS.find((candidate) => typOf(candidate) === typ);
  // An unknown member could change the meaning of the document (such as `crit`): reject it.
  const hasUnknownMembers = Object.keys(more).length > 0;
  if (alg !== "EdDSA" || kind === undefined || typeof kid !== "string" || hasUnknownMembers) {
    return err({ wrong: "form" });
  }
  if (!isCertified(kind)) {
    return cert === undefined ? ok({ kind, kid, cert: null }) : err({ wrong: "form" });
  }
  if (typeof cert !== "string" || !hasFormOfCertificate(cert)) return err({ wrong: "form" });
  // Another order, white space or a member that stands twice: libraries read it differently.
  const isExact = decodePart(parts[0] ?? "") === JSON.stringify(headerOf(kind, kid, cert));
  return isExact ? ok({ kind, kid, cert }) : err({ wrong: "form" });
}

export const MAX_CERTIFICATE = 1_024;

function hasFormOfCertificate(text: string): boolean {
  if (text.length > MAX_CERTIFICATE) return false;
  const header = readDocumentHeader(text);
  return header.ok && header.value.kind === "key";
}

/** The kind that a document claims, if it is not the wanted one; otherwise null. */
export function findMismatchedKind(text: string, wanted: DocumentKind): DocumentKind | null {
  const header = readDocumentHeader(text);
  return header.ok && header.value.kind !== wanted ? header.value.kind : null;
}

/** For display only: the payload is not verified. */
export const readUnverifiedPayload = (text: string): unknown =>
  parseObject(text.split(".")[1] ?? "");

const typOf = (kind: DocumentKind): string => `berth-${kind}+jwt`;

/** The last character of a signature has 16 spellings that decode alike: accepts only one. */
function isCanonical(part: string): boolean {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return false;
  // No number of bytes encodes to this length, and the decoder would throw.
  if (part.length % 4 === 1) return false;
  return base64url.encode(base64url.decode(part)) === part;
}

const decodePart = (part: string): string =>
  new TextDecoder("utf-8", { fatal: true }).decode(base64url.decode(part));

function parseObject(part: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(decodePart(part));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
