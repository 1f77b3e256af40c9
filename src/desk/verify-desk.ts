import { join } from "node:path";
import { verifyCertificate } from "../license/documents/certificate.ts";
import { describeDocumentFault } from "../license/documents/document-fault.ts";
import { decodeConfirmationCode, verifyConfirmationCode } from "../license/codes/confirmation.ts";
import { keyIdOf, type PublicKey } from "../license/documents/keys.ts";
import { verifyLicense } from "../license/documents/license.ts";
import type { Vendor } from "../license/documents/trust.ts";
import { GENESIS } from "../platform/crypto/hash.ts";
import type { Disk } from "../platform/files/disk.ts";
import { issuingKeyFile, listIssuingKeys } from "./key-file.ts";
import { LEDGER_LOSS_HINT, findLedgerLoss, readLedgerHead } from "./ledger/ledger-head.ts";
import { LEDGER_FILE, parseLedgerLine } from "./ledger/ledger-lines.ts";
import { LineReader } from "./ledger/line-reader.ts";
import type { IssuedEntry, StatementEntry } from "./ledger/ledger-entries.ts";
import {
  countUnknownBytes,
  readStatementDocuments,
  STATEMENTS_FILE,
} from "./ledger/statement-file.ts";
import { readDeskTrust } from "./desk-records.ts";
import { DeskFormatRefused, DeskRefused } from "./desk-refused.ts";
import { findStrayKeys } from "./stray-keys.ts";
import { verifyStatementEntry } from "./statements/verify-statement-entry.ts";
import { TRUST_FILE } from "./trust-document.ts";

/** A damaged or missing part of the desk. */
export interface DeskFault {
  /** A file of the desk, with the line number in the ledger. */
  readonly location: string;
  readonly problem: string;
}

export interface DeskVerification {
  /** `encrypted`: not checked, because no passphrase was given. */
  readonly key: "ok" | "encrypted" | "fault";
  /** The version of the trust document; null: it cannot be read. */
  readonly trust_version: number | null;
  readonly ledger_lines: number;
  /** Issued licenses and codes whose signature was checked. */
  readonly checked_licenses: number;
  readonly faults: readonly DeskFault[];
  /** Findings that may be harmless; a person must decide. */
  readonly notes: readonly string[];
}

/**
 * Reads the whole desk and changes nothing. The hashes alone find every change since a line was
 * written; the signatures take minutes at a large desk.
 */
export async function verifyDesk(
  disk: Disk,
  folder: string,
  passphrase: string | null,
  checks: "all" | "hashes" = "all",
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
  const trust = await recordFault(TRUST_FILE, () => readDeskTrust(disk, folder));
  const vendor = trust?.vendor ?? null;
  if (trust?.fileFault != null) faults.push({ location: TRUST_FILE, problem: trust.fileFault });
  const ledger = await verifyLedger(disk, folder, vendor, checks === "all");
  const current = ledger.keys.at(-1) ?? null;
  const file = current && issuingKeyFile(disk, folder, keyIdOf(current));
  const isSkipped = file?.isEncrypted === true && passphrase === null;
  const key =
    file === null || isSkipped ? null : await recordFault("key", () => file.read(passphrase));
  if (current === null) faults.push({ location: "key", problem: "the desk has no certified key" });
  if (current !== null && key !== null && key.x !== current.x)
    faults.push({ location: "key", problem: `the file of ${file?.name} contains another key` });
  faults.push(...findPlainKeyFiles(disk, folder));
  for (const { name, problem } of vendor === null ? [] : findStrayKeys(disk, folder, vendor.jwk))
    faults.push({ location: name, problem: `${problem}: move it to a medium of its own` });
  return {
    key: isSkipped ? "encrypted" : key?.x === current?.x && key !== null ? "ok" : "fault",
    trust_version: vendor?.version ?? null,
    ledger_lines: ledger.ledger_lines,
    checked_licenses: ledger.checked_licenses,
    faults: [...faults, ...ledger.faults],
    notes: [
      ...ledger.notes,
      ...findOtherKeys(disk, folder, [...ledger.keys.map(keyIdOf), ...(vendor?.retired ?? [])]),
    ],
  };
}

/** Unencrypted key files that should have been removed when the passphrase was set. */
const findPlainKeyFiles = (disk: Disk, folder: string): DeskFault[] =>
  listIssuingKeys(disk, folder).flatMap((id) => {
    const [plain, locked] = issuingKeyFile(disk, folder, id).files;
    const problem = `exists without a passphrase beside ${locked}: run berth vendor passphrase again`;
    return locked === undefined ? [] : [{ location: plain ?? "", problem }];
  });

/** Keys that wait for their certificate, and files left by a command. They are never removed. */
function findOtherKeys(disk: Disk, folder: string, known: readonly string[]): string[] {
  const files = disk.stat(folder) === null ? [] : disk.list(folder);
  return [
    ...files
      .filter((name) => /\.key\.jw[ek]\.new$/.test(name))
      .map((name) => `${name} is left over from an interrupted command: it can be deleted`),
    ...listIssuingKeys(disk, folder)
      .filter((id) => !known.includes(id))
      .map((id) => `the key ${id} waits for its certificate: berth vendor accept takes it`),
  ];
}

async function verifyLedger(
  disk: Disk,
  folder: string,
  vendor: Vendor | null,
  checksSignatures: boolean,
) {
  const head = readLedgerHead(disk, folder);
  const path = join(folder, LEDGER_FILE);
  const isMissing = disk.stat(path) === null;
  const faults: DeskFault[] = isMissing ? [{ location: LEDGER_FILE, problem: "is missing" }] : [];
  const reader = new LineReader(disk, path);
  let [number, before, headSum, hasTrustLine] = [0, GENESIS, null as string | null, false];
  const keys: PublicKey[] = [];
  let lastStatement: StatementEntry | null = null;
  let checked = 0;
  // The last line of the last append after the head: an interrupted one lacks it.
  let lastLine = 0;
  for (const { bytes } of reader) {
    number += 1;
    const { entry, together, sum, fault } = parseLedgerLine(bytes, before);
    if (together > 1 && number > (head?.lines ?? 0)) lastLine = number - 1 + together;
    before = sum;
    if (number === head?.lines) headSum = sum;
    if (entry?.type === "trust" && entry.version === vendor?.version) hasTrustLine = true;
    const location = `ledger.jsonl line ${number}`;
    if (fault !== null) faults.push({ location, problem: fault });
    if (entry?.type === "key" && vendor !== null) {
      const certificate = await verifyCertificate(entry.cert, vendor, []);
      if (certificate.ok) keys.push(certificate.value.cnf.jwk);
      else faults.push({ location, problem: "contains a certificate that the root did not sign" });
    }
    if (entry?.type === "statement") {
      lastStatement = entry;
      const read = readStatementDocuments(disk, folder, entry);
      if (!read.ok) faults.push({ location, problem: `its statement ${read.fault}` });
      const problem =
        read.ok && vendor !== null && checksSignatures
          ? await verifyStatementEntry(entry, read.value, vendor)
          : null;
      if (problem !== null) faults.push({ location, problem });
    }
    if (entry?.type !== "issued" || vendor === null || !checksSignatures) continue;
    const problem =
      entry.jwk === null ? await verifyCode(entry, keys) : await verifyFile(entry, vendor);
    checked += 1;
    if (problem !== null) faults.push({ location, problem });
  }
  if (reader.rest > 0 || lastLine > number) {
    const what = reader.rest > 0 ? `${reader.rest} bytes` : "several lines";
    const problem = `ends in an interrupted write of ${what}; the next command moves it to another file`;
    faults.push({ location: LEDGER_FILE, problem });
  }
  const loss = isMissing ? null : findLedgerLoss(head, number, headSum);
  if (loss !== null)
    faults.push({ location: "ledger.head", problem: `${loss}: ${LEDGER_LOSS_HINT}` });
  const unknown = countUnknownBytes(disk, folder, lastStatement);
  const notes = [
    ...(vendor === null || hasTrustLine
      ? []
      : [
          `the ledger has no line for version ${vendor.version} of the trust document: lines are lost`,
        ]),
    ...(unknown > 0
      ? [
          `${STATEMENTS_FILE} ends in an interrupted write of ${unknown} bytes; the next statement moves it to another file`,
        ]
      : []),
  ];
  return { ledger_lines: number, checked_licenses: checked, faults, notes, keys };
}

/** The problem; null: the entry is valid. */
type Verdict = string | null;

async function verifyFile(entry: IssuedEntry, vendor: Vendor): Promise<Verdict> {
  const verified = await verifyLicense(entry.document, [vendor]);
  if (!verified.ok) return `contains a license that ${describeDocumentFault(verified.fault)}`;
  const { license, signer } = verified.value;
  const differing = [
    ...(keyIdOf(signer.key) === entry.key ? [] : ["key"]),
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

async function verifyCode(entry: IssuedEntry, keys: readonly PublicKey[]): Promise<Verdict> {
  const code = decodeConfirmationCode(entry.document);
  if (!code.ok) return "contains a confirmation code that cannot be read";
  const { policy_hash, terms, appliance, hardware_id, request_id, serial } = entry;
  if (policy_hash === undefined) return "has no policy_hash";
  const isSameEnd =
    code.value.validUntil === null || isSameTime(terms.valid_until, code.value.validUntil);
  if (code.value.serial !== serial || !isSameEnd) {
    return "differs from the confirmation code that it contains: serial or valid_until";
  }
  for (const key of keys.filter((candidate) => keyIdOf(candidate) === entry.key)) {
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
