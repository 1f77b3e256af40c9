import {
  readDocumentHeader,
  readUnverifiedPayload,
  verifyDocument,
} from "../license/documents/document.ts";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import type { DocumentKind } from "../license/documents/document-kinds.ts";
import {
  fingerprintOf,
  keyIdOf,
  parsePublicKey,
  type PublicKey,
} from "../license/documents/keys.ts";
import type { DeskRecords } from "./desk-records.ts";
import { DeskRefused } from "./desk-refused.ts";

export interface DocumentInspection {
  readonly kind: DocumentKind;
  readonly kid: string;
  readonly verified: boolean;
  readonly verdict: string;
  /** For a trust document, the fingerprint that customers compare; null for other kinds. */
  readonly fingerprint: string | null;
  readonly payload: unknown;
}

/** Reads a document and checks its signature with the keys that may sign this kind. */
export async function inspectDocument(
  document: string,
  desk: DeskRecords | null,
): Promise<DocumentInspection> {
  const header = readDocumentHeader(document);
  if (!header.ok)
    throw new DeskRefused(
      `the file ${describeDocumentFault(header.fault)}`,
      "it must be a Berth document",
    );
  const { kind, kid } = header.value;
  const payload = readUnverifiedPayload(document);
  const fingerprint = fingerprintIn(kind, payload);
  const facts = { kind, kid, fingerprint, payload };
  const key = candidateKeys(kind, payload, desk).find((candidate) => keyIdOf(candidate) === kid);
  if (key === undefined) {
    return { ...facts, verified: false, verdict: "signed by an unknown key" };
  }
  const verified = await verifyDocument(kind, document, key);
  // A retired key may be stolen, and the thief's documents verify like the vendor's own.
  const isRetired = desk?.vendor.retired?.some((retired) => retired.key === kid) === true;
  const signer = isRetired ? `${kid}, a retired key` : kid;
  const verdict = verified.ok
    ? `verified, signed by ${signer}`
    : describeDocumentFault(verified.fault);
  return { ...facts, verified: verified.ok, verdict };
}

/** The newest key is the first one. */
function fingerprintIn(kind: DocumentKind, payload: unknown): string | null {
  const keys = (payload as { keys?: unknown } | null)?.keys;
  const newest = kind === "trust" && Array.isArray(keys) ? parsePublicKey(keys[0]) : null;
  return newest && fingerprintOf(newest);
}

/**
 * The desk's keys and those of its sites. Only a request and a trust document may contain the key
 * that verifies them: they make a statement about the holder of that key alone.
 */
function candidateKeys(
  kind: DocumentKind,
  payload: unknown,
  desk: DeskRecords | null,
): PublicKey[] {
  const claims = payload as { jwk?: unknown; keys?: unknown } | null;
  const enclosedKeys: unknown[] = kind === "request" ? [claims?.jwk] : [];
  if (kind === "trust" && Array.isArray(claims?.keys)) {
    enclosedKeys.push(...(claims.keys as unknown[]));
  }
  const siteKeys = desk?.ledger.issuedEntries().map(({ jwk }) => jwk) ?? [];
  return [...enclosedKeys, ...(desk?.vendor.keys ?? []), ...siteKeys].flatMap((key) => {
    const parsed = parsePublicKey(key);
    return parsed === null ? [] : [parsed];
  });
}
