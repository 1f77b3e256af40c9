import { join } from "node:path";
import { DAY, instant, later, SECOND, type Instant } from "../domain/time.ts";
import { verifyCertificate, type KeyCertificate } from "../license/documents/certificate.ts";
import { keyIdOf } from "../license/documents/keys.ts";
import type { Vendor } from "../license/documents/trust.ts";
import type { Disk } from "../platform/files/disk.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { LEDGER_FILE, readTrustEntries, refuseOtherFormat } from "./ledger/ledger-lines.ts";
import { Ledger } from "./ledger/ledger.ts";
import type { LedgerIndex } from "./ledger/ledger-index.ts";
import type { KeyEntry, TrustEntry } from "./ledger/ledger-entries.ts";
import { DeskRefused } from "./desk-refused.ts";
import { issuingKeyFile, rootKeyFile } from "./key-file.ts";
import { readTrustDocument, TRUST_FILE, type TrustDocument } from "./trust-document.ts";

/** An issuing key of the desk, by its certificate. */
export interface CertifiedKey {
  readonly id: string;
  readonly cert: string;
  readonly certificate: KeyCertificate;
  /** When the desk accepted the certificate. */
  readonly since: string;
}

/** What a desk decides by. */
export interface DeskFacts {
  readonly vendor: Vendor;
  /** The newest trust document. */
  readonly trust: TrustDocument;
  /** The keys with a certificate; the current one is the first. */
  readonly keys: readonly CertifiedKey[];
  readonly ledger: LedgerIndex;
}

/** What a desk holds besides its keys; it can be read without a passphrase. */
export interface DeskRecords extends DeskFacts {
  readonly ledger: Ledger;
  /** Messages for the user of the desk. */
  readonly notes: readonly string[];
}

/** The newest trust document of the folder and the ledger. */
export interface DeskTrust extends TrustDocument {
  /** Why the file has to be written again from the ledger; null: it need not. */
  readonly fileFault: string | null;
}

export async function loadDeskRecords(disk: Disk, folder: string): Promise<DeskRecords> {
  refuseNoDesk(disk, folder);
  return readRecords(disk, folder, await Ledger.open(disk, folder));
}

function refuseNoDesk(disk: Disk, folder: string): void {
  refuseRootInside(disk, folder);
  refuseOtherFormat(disk, folder);
  if ([TRUST_FILE, LEDGER_FILE].every((name) => disk.stat(join(folder, name)) === null))
    throw noDesk(folder);
}

const noDesk = (folder: string): DeskRefused =>
  new DeskRefused(`${folder} is not a desk`, "create one with berth vendor init");

/** The records of a ledger that is open. */
export async function readRecords(
  disk: Disk,
  folder: string,
  ledger: Ledger,
): Promise<DeskRecords> {
  const trust = await readDeskTrust(disk, folder, ledger.trustEntries());
  const { vendor, fileFault } = trust;
  const keys = await readKeys(ledger.keyEntries(), vendor);
  const notes = fileFault === null ? ledger.notes : [...ledger.notes, `${fileFault}: ${REWRITTEN}`];
  return { vendor, trust, keys, ledger, notes };
}

const REWRITTEN = "the next command that signs writes it again from the ledger";

/**
 * Reads the newest trust document: that of the folder, or a newer one of the ledger. Writes
 * nothing. `entries`: those of a ledger that is open.
 */
export async function readDeskTrust(
  disk: Disk,
  folder: string,
  entries: readonly TrustEntry[] | null = null,
): Promise<DeskTrust> {
  refuseRootInside(disk, folder);
  refuseOtherFormat(disk, folder);
  const path = join(folder, TRUST_FILE);
  const bytes = disk.stat(folder) === null ? null : disk.read(path);
  const newest = (entries ?? readTrustEntries(disk, folder)).reduce<TrustEntry | null>(
    (before, entry) => (before === null || entry.version > before.version ? entry : before),
    null,
  );
  if (bytes === null) {
    if (newest === null) throw noDesk(folder);
    const trust = await readTrustDocument(newest.document, "the trust document in the ledger");
    return { ...trust, fileFault: `${path} is missing` };
  }
  const file = await readTrustDocument(new TextDecoder().decode(bytes), path);
  if (newest === null) return { ...file, fileFault: null };
  const trust = await readTrustDocument(newest.document, "the trust document in the ledger");
  if (trust.vendor.jwk.x !== file.vendor.jwk.x) {
    throw new DeskRefused(
      `${path} is of another vendor than the ledger`,
      "move it to another folder: the next command that signs writes it again from the ledger",
    );
  }
  if (file.vendor.version >= trust.vendor.version) return { ...file, fileFault: null };
  return { ...trust, fileFault: `${path} is older than in the ledger` };
}

/** A thief of the desk must not find the root there. */
export function refuseRootInside(disk: Disk, folder: string): void {
  if (disk.stat(folder) === null) return;
  const [file] = rootKeyFile(disk, folder).files;
  if (file === undefined) return;
  throw new DeskRefused(
    `${join(folder, file)} is the vendor's root key, and must not be in the desk's folder`,
    "move it to a medium of its own, with a copy of trust.jwt: its holder is the vendor",
  );
}

/** Newest first. A line with a wrong certificate is left out: berth vendor verify names it. */
async function readKeys(entries: readonly KeyEntry[], vendor: Vendor): Promise<CertifiedKey[]> {
  const keys: CertifiedKey[] = [];
  for (const { cert, at } of entries.toReversed()) {
    const verified = await verifyCertificate(cert, vendor, []);
    if (!verified.ok) continue;
    const id = keyIdOf(verified.value.cnf.jwk);
    if (keys.some((key) => key.id === id)) continue;
    keys.push({ id, cert, certificate: verified.value, since: at });
  }
  return keys;
}

/** Whether the current key needs a passphrase. */
export function isKeyEncrypted(disk: Disk, folder: string, { keys }: DeskRecords): boolean {
  const id = keys[0]?.id;
  return id !== undefined && issuingKeyFile(disk, folder, id).isEncrypted;
}

export type KeyState = "current" | "earlier" | "ended" | "retired";

/** What may be done with a key at `now`: an earlier one still confirms codes of its policies. */
export function stateOfKey(
  { keys, vendor }: Pick<DeskRecords, "keys" | "vendor">,
  key: CertifiedKey,
  now: Instant,
): KeyState {
  if (vendor.retired.includes(key.id)) return "retired";
  if (endOfKey(key) <= now) return "ended";
  return keys[0]?.id === key.id ? "current" : "earlier";
}

/** So long before its end a key should be replaced. */
const WARNING_TIME = 90 * DAY;

/** Reminds of a current key that ends soon. */
export function describeEndOfKey(
  records: Pick<DeskRecords, "keys" | "vendor">,
  now: Instant,
): string[] {
  const [current] = records.keys;
  if (current === undefined || stateOfKey(records, current, now) !== "current") return [];
  const end = endOfKey(current);
  if (now < later(end, -WARNING_TIME)) return [];
  return [
    `the key ${current.id} of this desk ends on ${rfc3339(end).slice(0, 10)}; make a new one: berth vendor key new`,
  ];
}

export const endOfKey = ({ certificate }: Pick<CertifiedKey, "certificate">): Instant =>
  instant(certificate.until * SECOND);
