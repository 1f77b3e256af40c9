import { base64url, CompactSign, compactVerify, importJWK } from "jose";
import { err, ok, type Result } from "../domain/result.ts";
import { keyIdOf, parsePublicKey, publicPart, type PrivateKey, type PublicKey } from "./keys.ts";

/** What crosses the gap, each under a name of its own; one is never taken for another. */
export const DOCUMENT_KINDS = [
  "trust",
  "request",
  "license",
  "policy",
  "lease",
  "receipt",
  "time",
] as const;

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** Far more than any of them needs, far less than would hurt. */
const MAX_DOCUMENT = 48 * 1024;

export type DocumentFault =
  | "is too large"
  | "is not a signed document"
  | "is another kind of document"
  | "has an invalid signature";

export interface DocumentHeader {
  readonly kind: DocumentKind;
  /** Whose key signed it, by the signer's own word: a hint where to look, never a proof. */
  readonly kid: string;
}

/** Signs a payload as a compact JWS, so that any JWT library can check it. */
export async function signDocument(
  kind: DocumentKind,
  payload: object,
  key: PrivateKey,
): Promise<string> {
  return new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: "EdDSA", typ: typOf(kind), kid: keyIdOf(key) })
    .sign(await importJWK(key, "EdDSA"));
}

/** Verifies first, and parses exactly what was verified. */
export async function verifyDocument(
  kind: DocumentKind,
  text: string,
  key: PublicKey,
): Promise<Result<unknown, DocumentFault>> {
  const header = readDocumentHeader(text);
  if (!header.ok) return header;
  if (header.value.kind !== kind) return err("is another kind of document");
  // A weak key "signs" anything; it must not come this far, and if it does, no further.
  if (parsePublicKey(key) === null) return err("has an invalid signature");
  try {
    const options = { algorithms: ["EdDSA"] };
    const { payload } = await compactVerify(
      text,
      await importJWK(publicPart(key), "EdDSA"),
      options,
    );
    return ok(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload)));
  } catch {
    return err("has an invalid signature");
  }
}

/** What a document says it is; nothing of it is to be believed yet. */
export function readDocumentHeader(text: string): Result<DocumentHeader, DocumentFault> {
  if (text.length > MAX_DOCUMENT) return err("is too large");
  const parts = text.split(".");
  if (parts.length !== 3 || !parts.every(isCanonical)) return err("is not a signed document");
  const header = parseObject(parts[0] ?? "");
  const { alg, typ, kid, ...more } = header ?? {};
  const kind = DOCUMENT_KINDS.find((one) => typOf(one) === typ);
  // No other member means anything to us, and one we do not know may mean that we should stop.
  const strange = Object.keys(more).length > 0;
  if (alg !== "EdDSA" || kind === undefined || typeof kid !== "string" || strange) {
    return err("is not a signed document");
  }
  return ok({ kind, kid });
}

/** For showing what somebody holds; says nothing about who signed it. */
export const readUnverifiedPayload = (text: string): unknown =>
  parseObject(text.split(".")[1] ?? "");

const typOf = (kind: DocumentKind): string => `berth-${kind}+jwt`;

/** A signature's last character has 16 spellings that decode alike; we take one. */
function isCanonical(part: string): boolean {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return false;
  // One character more than whole bytes need: no bytes are written so, and the decoder throws.
  if (part.length % 4 === 1) return false;
  return base64url.encode(base64url.decode(part)) === part;
}

function parseObject(part: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(base64url.decode(part)),
    );
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
