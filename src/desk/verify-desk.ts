import { join } from "node:path";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import { decodeConfirmationCode, verifyConfirmationCode } from "../license/codes/confirmation.ts";
import { keyIdOf } from "../license/documents/keys.ts";
import { verifyLicense } from "../license/documents/license.ts";
import type { Vendor } from "../license/documents/trust.ts";
import type { Disk } from "../platform/files/disk.ts";
import {
  findEarlierKeyIds,
  isCurrentKeyEncrypted,
  isKeyEncrypted,
  KEY_FILE_NAMES,
  readCurrentKey,
  readKey,
} from "./key-file.ts";
import { LEDGER_LOSS_HINT, findLedgerLoss } from "./ledger/ledger-head.ts";
import { LEDGER_FILE, readLedgerLines } from "./ledger/ledger-lines.ts";
import type { IssuedEntry } from "./ledger/ledger-entries.ts";
import { readTrustChain, type TrustChain } from "./desk-records.ts";
import { DeskFormatRefused, DeskRefused } from "./desk-refused.ts";
import { verifyStatementEntry } from "./statements/verify-statement-entry.ts";

/** A damaged or missing part of the desk. */
export interface DeskFault {
  /** A file of the desk, with the line number in the ledger. */
  readonly location: string;
  readonly problem: string;
}

export interface DeskVerification {
  /** `encrypted`: not checked, because no passphrase was given. */
  readonly key: "ok" | "encrypted" | "fault";
  /** Files of the trust documents, in order. */
  readonly documents: readonly string[];
  readonly ledger_lines: number;
  /** Issued licenses and codes whose signature was checked. */
  readonly checked_licenses: number;
  readonly faults: readonly DeskFault[];
  /** Findings that may be harmless; a person must decide. */
  readonly notes: readonly string[];
}

/** Reads the whole desk and changes nothing. */
export async function verifyDesk(
  disk: Disk,
  folder: string,
  passphrase: string | null,
): Promise<DeskVerification> {
  const faults: DeskFault[] = [];
  const recordFault = async <T>(location: string, work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DeskRefused) || error instanceof DeskFormatRefused) throw error;
      faults.push({ location, problem: error.message });
      return null;
    }
  };
  const chain = await recordFault("trust documents", () => readTrustChain(disk, folder));
  const vendor = chain?.vendor ?? null;
  if (chain !== null) faults.push(...listChainFaults(chain));
  const isEncrypted =
    vendor === null ? isKeyEncrypted(disk, folder) : isCurrentKeyEncrypted(disk, folder, vendor);
  const isSkipped = isEncrypted && passphrase === null;
  const key = isSkipped
    ? null
    : await recordFault("key", () => readSigningKey(disk, folder, vendor, passphrase));
  faults.push(...findPlainKeyFiles(disk, folder, vendor));
  const ledger = await verifyLedger(disk, folder, vendor);
  return {
    key: isSkipped ? "encrypted" : key === null ? "fault" : "ok",
    documents: chain?.files ?? [],
    ...ledger,
    faults: [...faults, ...ledger.faults],
    notes: [...ledger.notes, ...findLeftOverKeys(disk, folder, vendor)],
  };
}

async function readSigningKey(
  disk: Disk,
  folder: string,
  vendor: Vendor | null,
  passphrase: string | null,
) {
  if (vendor === null) return readKey(disk, folder, passphrase);
  const { key } = await readCurrentKey(disk, folder, vendor, passphrase);
  if (vendor.keys[0]?.x === key.x) return key;
  throw new DeskRefused("the key is not the current one of the newest trust document", "");
}

/** Documents that are on the ledger but not in the folder. */
const listChainFaults = ({ missingDocuments, fault }: TrustChain): DeskFault[] => [
  ...missingDocuments.map(({ file, message }) => ({
    location: "trust documents",
    problem: `${file} ${message}`,
  })),
  ...(fault === null
    ? []
    : [{ location: "trust documents", problem: `${fault.message}: ${fault.hint}` }]),
];

/** Unencrypted key files that should have been removed when the passphrase was set. */
function findPlainKeyFiles(disk: Disk, folder: string, vendor: Vendor | null): DeskFault[] {
  const ids = [null, ...(vendor?.keys ?? []).map(keyIdOf)];
  return ids.flatMap((id) => {
    const [plain, locked] = KEY_FILE_NAMES.map((name) => (id === null ? name : `${id}.${name}`));
    const hasBoth = [plain, locked].every((name) => disk.stat(join(folder, name ?? "")) !== null);
    const problem = `exists without a passphrase beside ${locked}: run berth vendor passphrase again`;
    return hasBoth ? [{ location: plain ?? "", problem }] : [];
  });
}

/** Key files of interrupted commands. They are never removed: each may hold the only copy. */
function findLeftOverKeys(disk: Disk, folder: string, vendor: Vendor | null): string[] {
  const listedIds = new Set(vendor?.keys.map(keyIdOf));
  const unlistedIds = findEarlierKeyIds(disk, folder).filter(
    (id) => vendor !== null && !listedIds.has(id),
  );
  return [
    ...disk
      .list(folder)
      .filter((name) => /vendor\.jw[ek]\.new$/.test(name))
      .map((name) => `${name} is left over from an interrupted command: it can be deleted`),
    ...unlistedIds.flatMap((id) =>
      KEY_FILE_NAMES.map((name) => `${id}.${name}`)
        .filter((name) => disk.stat(join(folder, name)) !== null)
        .map((name) => `${name} is a key that is in no trust document of this desk`),
    ),
  ];
}

async function verifyLedger(disk: Disk, folder: string, vendor: Vendor | null) {
  const ledger = readLedgerLines(disk, folder);
  const { lines, torn } = ledger ?? { lines: [], torn: 0 };
  const faults: DeskFault[] = ledger ? [] : [{ location: LEDGER_FILE, problem: "is missing" }];
  let checked = 0;
  for (const { number, entry, fault } of lines) {
    const location = `ledger.jsonl line ${number}`;
    if (fault !== null) faults.push({ location, problem: fault });
    if (entry?.type === "statement" && vendor !== null) {
      const problem = await verifyStatementEntry(entry, vendor);
      if (problem !== null) faults.push({ location, problem });
    }
    if (entry?.type !== "issued" || vendor === null) continue;
    const problem =
      entry.jwk === null ? await verifyCode(entry, vendor) : await verifyFile(entry, vendor);
    checked += 1;
    if (problem !== null) faults.push({ location, problem });
  }
  if (torn > 0) {
    const problem = `ends in an interrupted write of ${torn} bytes; the next command moves it to another file`;
    faults.push({ location: LEDGER_FILE, problem });
  }
  const loss = ledger && findLedgerLoss(disk, folder, lines);
  if (loss !== null)
    faults.push({ location: "ledger.head", problem: `${loss}: ${LEDGER_LOSS_HINT}` });
  const hasTrustLine = lines.some(({ entry }) => entry?.type === "trust");
  const notes =
    vendor === null || vendor.version === 1 || hasTrustLine
      ? []
      : [
          `the ledger has no line for version ${vendor.version} of the trust document: lines are lost`,
        ];
  return { ledger_lines: lines.length, checked_licenses: checked, faults, notes };
}

/** The problem; null: the entry is valid. */
type Verdict = string | null;

async function verifyFile(entry: IssuedEntry, vendor: Vendor): Promise<Verdict> {
  const verified = await verifyLicense(entry.document, [vendor]);
  if (!verified.ok) return `contains a license that ${describeDocumentFault(verified.fault)}`;
  const { license } = verified.value;
  const differing = [
    ...(["license_id", "serial", "appliance", "hardware_id", "request_id"] as const).filter(
      (name) => license[name] !== entry[name],
    ),
    ...(license.cnf.jwk.x === entry.jwk?.x ? [] : ["jwk"]),
    ...(Bun.deepEquals(license.hosts, entry.hosts) ? [] : ["hosts"]),
    ...(Bun.deepEquals(license.terms, entry.terms) ? [] : ["terms"]),
  ];
  return differing.length === 0
    ? null
    : `differs from the license that it contains: ${differing.join(", ")}`;
}

async function verifyCode(entry: IssuedEntry, vendor: Vendor): Promise<Verdict> {
  const code = decodeConfirmationCode(entry.document);
  if (!code.ok) return "contains a confirmation code that cannot be read";
  const { policy_hash, terms, appliance, hardware_id, request_id, serial } = entry;
  if (policy_hash === undefined) return "has no policy_hash";
  const isSameEnd =
    code.value.validUntil === null || isSameTime(terms.valid_until, code.value.validUntil);
  if (code.value.serial !== serial || !isSameEnd) {
    return "differs from the confirmation code that it contains: serial or valid_until";
  }
  for (const key of vendor.keys) {
    for (const weak of [false, true]) {
      const claims = {
        activation: { appliance, nonce: request_id ?? "", hardwarePrefix: hardware_id, weak },
        licenseKey: terms.license_key ?? "",
        policyHash: policy_hash,
        initializationCode: entry.initialization_code ?? "",
      };
      if (await verifyConfirmationCode(claims, code.value, key)) return null;
    }
  }
  return "contains a confirmation code that this vendor did not sign for these terms";
}

const isSameTime = (text: string | null, at: number): boolean =>
  text !== null && Date.parse(text) === at;
