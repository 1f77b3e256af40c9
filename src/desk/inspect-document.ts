import {
  readDocumentHeader,
  readUnverifiedPayload,
  verifyDocument,
} from "../license/documents/document.ts";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import { isCertified, type DocumentKind } from "../license/documents/document-kinds.ts";
import {
  fingerprintOf,
  keyIdOf,
  parsePublicKey,
  type PublicKey,
} from "../license/documents/keys.ts";
import { verifyVendorDocument } from "../license/documents/trust.ts";
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
  /** The certificate of the key that signed it, as far as it can be read; null: it has none. */
  readonly certificate: unknown;
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
  const { kind, kid, cert } = header.value;
  const payload = readUnverifiedPayload(document);
  const certificate = cert === null ? null : readUnverifiedPayload(cert);
  const fingerprint = fingerprintIn(kind, payload);
  const facts = { kind, kid, fingerprint, payload, certificate };
  const fault =
    cert === null
      ? await checkPlain(kind, document, kid, candidateKeys(kind, payload, kid, desk))
      : await checkCertified(kind, document, desk);
  if (fault !== null) return { ...facts, verified: false, verdict: fault };
  // A retired key may be stolen, and the thief's documents verify like the vendor's own.
  const isRetired = cert !== null && desk?.vendor.retired.includes(kid) === true;
  const verdict = `verified, signed by ${isRetired ? `${kid}, a retired key` : kid}`;
  return { ...facts, verified: true, verdict };
}

const UNKNOWN_KEY = "signed by an unknown key";

/** Why the document is not verified; null: it is. */
async function checkPlain(
  kind: DocumentKind,
  document: string,
  kid: string,
  keys: readonly PublicKey[],
): Promise<string | null> {
  const key = keys.find((candidate) => keyIdOf(candidate) === kid);
  if (key === undefined) return UNKNOWN_KEY;
  const verified = await verifyDocument(kind, document, key);
  return verified.ok ? null : describeDocumentFault(verified.fault);
}

async function checkCertified(
  kind: DocumentKind,
  document: string,
  desk: DeskRecords | null,
): Promise<string | null> {
  if (desk === null || !isCertified(kind)) return UNKNOWN_KEY;
  const verified = await verifyVendorDocument(kind, document, [desk.vendor]);
  if (verified.ok) return null;
  return verified.fault.wrong === "signer" ? UNKNOWN_KEY : describeDocumentFault(verified.fault);
}

/** That of the root. */
function fingerprintIn(kind: DocumentKind, payload: unknown): string | null {
  const root = kind === "trust" ? parsePublicKey((payload as { jwk?: unknown } | null)?.jwk) : null;
  return root && fingerprintOf(root);
}

/** Some documents contain the key that verifies them: they speak for the holder of it alone. */
const SELF_SIGNED: ReadonlySet<DocumentKind> = new Set(["request", "trust", "key-request"]);

function candidateKeys(
  kind: DocumentKind,
  payload: unknown,
  kid: string,
  desk: DeskRecords | null,
): PublicKey[] {
  const enclosed = SELF_SIGNED.has(kind) ? [(payload as { jwk?: unknown } | null)?.jwk] : [];
  const siteKeys = desk?.ledger.issuedTo(kid).map(({ jwk }) => jwk) ?? [];
  const root = desk === null ? [] : [desk.vendor.jwk];
  return [...enclosed, ...root, ...siteKeys].flatMap((key) => {
    const parsed = parsePublicKey(key);
    return parsed === null ? [] : [parsed];
  });
}
