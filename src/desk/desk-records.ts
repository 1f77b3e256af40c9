import { join } from "node:path";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import { keyIdOf } from "../license/documents/keys.ts";
import { verifyTrustDocument, type Vendor } from "../license/documents/trust.ts";
import type { Disk } from "../platform/files/disk.ts";
import { hasKeyFile } from "./key-file.ts";
import { readTrustEntries, refuseOtherFormat } from "./ledger/ledger-lines.ts";
import { Ledger } from "./ledger/ledger.ts";
import type { TrustEntry } from "./ledger/ledger-entries.ts";
import { DeskRefused } from "./desk-refused.ts";

export const TRUST_FILE = "trust.jwt";

/** The file of a trust document after the first one. */
export const successorFileName = (version: number): string => `successor-${version}.jwt`;

/** What a desk holds besides its key; it can be read without a passphrase. */
export interface DeskRecords {
  readonly vendor: Vendor;
  readonly ledger: Ledger;
  /** Messages for the user of the desk. */
  readonly notes: readonly string[];
}

/** A document that is on the ledger but not in the folder. */
export interface MissingDocument {
  readonly file: string;
  readonly document: string;
  /** `is missing` or `is older than …`, and what happens next. */
  readonly message: string;
}

/** The vendor by its newest document, and the files that lead to it, oldest first. */
export interface TrustChain {
  readonly vendor: Vendor;
  readonly files: readonly string[];
  /** They count as part of the chain; the next command that signs writes them first. */
  readonly missingDocuments: readonly MissingDocument[];
  /** Why nothing may be signed: the ledger lists a newer document than the folder has. */
  readonly fault: TrustChainFault | null;
}

export interface TrustChainFault {
  readonly message: string;
  readonly hint: string;
}

export async function loadDeskRecords(disk: Disk, folder: string) {
  const chain = await readTrustChain(disk, folder);
  const ledger = await Ledger.open(disk, folder);
  return { vendor: chain.vendor, ledger, chain, notes: [...ledger.notes, ...chainNotes(chain)] };
}

const chainNotes = ({ missingDocuments, fault }: TrustChain): string[] => [
  ...missingDocuments.map(({ file, message }) => `${file} ${message}`),
  ...(fault === null ? [] : [`${fault.message}: ${fault.hint}`]),
];

/**
 * Verifies each document with the keys that the one before it names. A document that is not in the
 * folder is replaced by the ledger's copy. Writes nothing.
 */
export async function readTrustChain(disk: Disk, folder: string): Promise<TrustChain> {
  refuseOtherFormat(disk, folder);
  const read = (file: string): string | null => {
    const bytes = disk.read(join(folder, file));
    return bytes === null ? null : new TextDecoder().decode(bytes).trim();
  };
  const trust = read(TRUST_FILE);
  if (trust === null) throw missingTrustFile(disk, folder);
  const first = await verifyTrustDocument(trust, () => null);
  if (!first.ok)
    throw new DeskRefused(`${join(folder, TRUST_FILE)} ${describeDocumentFault(first.fault)}`, "");
  const trustEntries = readTrustEntries(disk, folder);
  let vendor = first.value;
  const files = [TRUST_FILE];
  const missingDocuments: MissingDocument[] = [];
  for (;;) {
    const before = vendor;
    const file = successorFileName(before.version + 1);
    const text = read(file);
    const copy = text === null ? findLedgerCopy(before, trustEntries) : null;
    const next = text ?? copy?.document;
    if (next === undefined) break;
    const verified = await verifyTrustDocument(next, () => before);
    if (!verified.ok && copy !== null) break;
    if (!verified.ok)
      throw new DeskRefused(`${join(folder, file)} ${describeDocumentFault(verified.fault)}`, "");
    vendor = verified.value;
    if (copy !== null) missingDocuments.push(copy);
    if (copy?.file !== TRUST_FILE) files.push(file);
  }
  return { vendor, files, missingDocuments, fault: findChainFault(vendor, trustEntries) };
}

function missingTrustFile(disk: Disk, folder: string): DeskRefused {
  if (disk.stat(folder) === null || !hasKeyFile(disk, folder)) {
    return new DeskRefused(`${folder} is not a desk`, "create one with berth vendor init");
  }
  return new DeskRefused(
    `${join(folder, TRUST_FILE)} is missing`,
    "copy it back from a backup, or from a site or medium that it was distributed to",
  );
}

const findEntry = (entries: readonly TrustEntry[], version: number): TrustEntry | undefined =>
  entries.findLast((entry) => entry.version === version);

const REWRITE_NOTE = "the next command that signs writes it again from the ledger";

/** While the first key is the current one, a new version replaces trust.jwt. */
function findLedgerCopy(before: Vendor, entries: readonly TrustEntry[]): MissingDocument | null {
  const version = before.version + 1;
  const entry = findEntry(entries, version);
  if (entry === undefined) return null;
  const { document } = entry;
  return entry.key === before.vendor
    ? { file: TRUST_FILE, document, message: `is older than in the ledger: ${REWRITE_NOTE}` }
    : { file: successorFileName(version), document, message: `is missing: ${REWRITE_NOTE}` };
}

/** A document without a ledger line is no fault: the line may be among those that were lost. */
function findChainFault(vendor: Vendor, entries: readonly TrustEntry[]): TrustChainFault | null {
  const newest = entries.at(-1);
  const [current] = vendor.keys;
  if (newest === undefined || current === undefined || newest.version < vendor.version) return null;
  if (newest.version === vendor.version) {
    if (newest.key === keyIdOf(current)) return null;
    return {
      message: `the newest trust document has another current key than the ledger: ${keyIdOf(current)} instead of ${newest.key}`,
      hint: "restore the document and the key from a backup of this desk",
    };
  }
  const next = vendor.version + 1;
  const isFirstKey = findEntry(entries, next)?.key === vendor.vendor;
  return isFirstKey
    ? {
        message: `${TRUST_FILE} is older than in the ledger: version ${vendor.version} instead of ${next}`,
        hint: "copy the newer one back from a backup, or from a site that has it",
      }
    : {
        message: `${successorFileName(next)} is missing`,
        hint: "copy it back from the folder it was moved to",
      };
}
