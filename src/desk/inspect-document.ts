import {
  readDocumentHeader,
  readUnverifiedPayload,
  verifyDocument,
  type DocumentKind,
} from "../license/document.ts";
import { fingerprintOf, keyIdOf, parsePublicKey, type PublicKey } from "../license/keys.ts";
import type { DeskRecords } from "./desk-records.ts";
import { DeskRefused } from "./desk-refused.ts";

export interface DocumentInspection {
  readonly kind: DocumentKind;
  readonly kid: string;
  readonly verified: boolean;
  readonly verdict: string;
  /** Of a trust document, what customers compare by voice; null for every other kind. */
  readonly fingerprint: string | null;
  readonly payload: unknown;
}

/** Shows what a document says, and whether the key that should have signed it did. */
export async function inspectDocument(
  document: string,
  desk: DeskRecords | null,
): Promise<DocumentInspection> {
  const header = readDocumentHeader(document);
  if (!header.ok) throw new DeskRefused(`the file ${header.fault}`, "it must be a Berth document");
  const { kind, kid } = header.value;
  const payload = readUnverifiedPayload(document);
  const fingerprint = fingerprintIn(kind, payload);
  const facts = { kind, kid, fingerprint, payload };
  const key = candidates(kind, payload, desk).find((one) => keyIdOf(one) === kid);
  if (key === undefined) {
    return { ...facts, verified: false, verdict: "signed by an unknown key" };
  }
  const verified = await verifyDocument(kind, document, key);
  // A thief's documents verify as the vendor's own do.
  const isRetired = desk?.vendor.retired?.some((one) => one.key === kid) === true;
  const signer = isRetired ? `${kid}, a retired key` : kid;
  const verdict = verified.ok ? `verified, signed by ${signer}` : verified.fault;
  return { ...facts, verified: verified.ok, verdict };
}

/** The newest key stands first. */
function fingerprintIn(kind: DocumentKind, payload: unknown): string | null {
  const keys = (payload as { keys?: unknown } | null)?.keys;
  const newest = kind === "trust" && Array.isArray(keys) ? parsePublicKey(keys[0]) : null;
  return newest && fingerprintOf(newest);
}

/**
 * The desk's own keys and those of its sites. Only a request and a trust document may bring their
 * key along: they speak for whoever holds it, and for nobody else.
 */
function candidates(kind: DocumentKind, payload: unknown, desk: DeskRecords | null): PublicKey[] {
  const own = payload as { jwk?: unknown; keys?: unknown } | null;
  const brought: unknown[] = kind === "request" ? [own?.jwk] : [];
  if (kind === "trust" && Array.isArray(own?.keys)) brought.push(...(own.keys as unknown[]));
  const sites = desk?.ledger.issuedEntries().map(({ jwk }) => jwk) ?? [];
  return [...brought, ...(desk?.vendor.keys ?? []), ...sites].flatMap((key) => {
    const parsed = parsePublicKey(key);
    return parsed === null ? [] : [parsed];
  });
}
