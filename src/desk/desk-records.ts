import { join } from "node:path";
import { keyIdOf } from "../license/keys.ts";
import { verifyTrustDocument, type Vendor } from "../license/trust.ts";
import type { Disk } from "../platform/disk.ts";
import { hasKeyFile } from "./key-file.ts";
import { readTrustEntries } from "./ledger-lines.ts";
import { Ledger, type TrustEntry } from "./ledger.ts";
import { DeskRefused } from "./desk-refused.ts";

export const TRUST_FILE = "trust.jwt";

/** Documents after the first, in the order they follow on one another. */
export const successorFileName = (version: number): string => `successor-${version}.jwt`;

/** What a desk holds besides its key: read without a passphrase. */
export interface DeskRecords {
  readonly vendor: Vendor;
  readonly ledger: Ledger;
  /** What the desk's owner should hear about. */
  readonly notes: readonly string[];
}

/** A document that the ledger holds, and the folder does not. */
export interface MissingDocument {
  readonly file: string;
  readonly document: string;
  /** `is missing` or `is older than …`, with what happens next. */
  readonly message: string;
}

/** The vendor by its newest document, and the names of the files that lead there, oldest first. */
export interface TrustChain {
  readonly vendor: Vendor;
  readonly files: readonly string[];
  /** Part of the chain all the same: the next command that signs writes them first. */
  readonly missingDocuments: readonly MissingDocument[];
  /** Why nothing may be signed: the ledger knows of more than the documents say. */
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
 * Each document is signed with a key that the one before it names. Where one is not in the folder,
 * the ledger's copy of it takes its place; nothing is written.
 */
export async function readTrustChain(disk: Disk, folder: string): Promise<TrustChain> {
  const read = (file: string): string | null => {
    const bytes = disk.read(join(folder, file));
    return bytes === null ? null : new TextDecoder().decode(bytes).trim();
  };
  const trust = read(TRUST_FILE);
  if (trust === null) throw noTrust(disk, folder);
  const first = await verifyTrustDocument(trust, () => null);
  if (!first.ok) throw new DeskRefused(`${join(folder, TRUST_FILE)} ${first.fault}`, "");
  const signed = readTrustEntries(disk, folder);
  let vendor = first.value;
  const files = [TRUST_FILE];
  const lost: MissingDocument[] = [];
  for (;;) {
    const before = vendor;
    const file = successorFileName(before.version + 1);
    const text = read(file);
    const copy = text === null ? lostAfter(before, signed) : null;
    const next = text ?? copy?.document;
    if (next === undefined) break;
    const succeeded = await verifyTrustDocument(next, () => before);
    if (!succeeded.ok && copy !== null) break;
    if (!succeeded.ok) throw new DeskRefused(`${join(folder, file)} ${succeeded.fault}`, "");
    vendor = succeeded.value;
    if (copy !== null) lost.push(copy);
    if (copy?.file !== TRUST_FILE) files.push(file);
  }
  return { vendor, files, missingDocuments: lost, fault: faultOf(vendor, signed) };
}

function noTrust(disk: Disk, folder: string): DeskRefused {
  if (disk.stat(folder) === null || !hasKeyFile(disk, folder)) {
    return new DeskRefused(`${folder} is not a desk`, "create one with berth vendor init");
  }
  return new DeskRefused(
    `${join(folder, TRUST_FILE)} is missing`,
    "copy it back from a backup, or from a site or medium that it was distributed to",
  );
}

const lineOf = (signed: readonly TrustEntry[], version: number): TrustEntry | undefined =>
  signed.findLast((line) => line.version === version);

const AGAIN = "the next command that signs writes it again from the ledger";

/** Until another key takes over, a new version takes the place of the first document. */
function lostAfter(before: Vendor, signed: readonly TrustEntry[]): MissingDocument | null {
  const version = before.version + 1;
  const line = lineOf(signed, version);
  if (line?.document === undefined) return null;
  const { document } = line;
  return line.key === before.vendor
    ? { file: TRUST_FILE, document, message: `is older than in the ledger: ${AGAIN}` }
    : { file: successorFileName(version), document, message: `is missing: ${AGAIN}` };
}

/** Documents that the ledger has no line of are fine: older versions left none. */
function faultOf(vendor: Vendor, signed: readonly TrustEntry[]): TrustChainFault | null {
  const newest = signed.at(-1);
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
  const isFirst = lineOf(signed, next)?.key === vendor.vendor;
  return isFirst
    ? {
        message: `${TRUST_FILE} is older than in the ledger: version ${vendor.version} instead of ${next}`,
        hint: "copy the newer one back from a backup, or from a site that has it",
      }
    : {
        message: `${successorFileName(next)} is missing`,
        hint: "copy it back from the folder it was moved to",
      };
}
