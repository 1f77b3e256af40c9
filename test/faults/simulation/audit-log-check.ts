import { join } from "node:path";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import type { JournalLine } from "../../../src/store/journal/journal.ts";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { BrokenChainError, readAuditChain, splitLines } from "../shared/audit-chain.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import { assertPromise } from "./promises.ts";
import type { ReferenceModel } from "./reference-model.ts";

const LF = 10;

/** Reads the rows of `state.json` from the disk. */
export function readSnapshot(disk: SimulatedDisk, folder: string): Snapshot {
  const bytes = disk.findFile(join(folder, "state.json"))?.view() ?? new Uint8Array();
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as Snapshot;
}

/** Lists the segments of the journal, oldest first. */
export function listSegments(disk: SimulatedDisk, folder: string): string[] {
  const numbers = (disk.findFolder(folder)?.names() ?? []).flatMap((name) => {
    const digits = /^journal-(\d+)\.jsonl$/.exec(name)?.[1];
    return digits === undefined ? [] : [Number(digits)];
  });
  return numbers.toSorted((a, b) => a - b).map((number) => `${folder}/journal-${number}.jsonl`);
}

/** The checksum of the journal's last line, which the next line continues. */
export function readLastSum(disk: SimulatedDisk, folder: string): string {
  for (const path of listSegments(disk, folder).toReversed()) {
    const bytes = disk.findFile(path)?.view() ?? new Uint8Array();
    const tail = Buffer.from(bytes.subarray(-LINE_TAIL.length - 1)).toString("utf8");
    if (tail !== "") return /^,"sum":"([0-9a-f]{64})"\}\n$/.exec(tail)?.[1] ?? "";
  }
  return readSnapshot(disk, folder).covers.sum;
}

const LINE_TAIL = `,"sum":"${GENESIS}"}`;

/**
 * The audit log, up to the end that the state names, must be every audited line once, byte for
 * byte. Anything beyond was left by a checkpoint that did not finish. The start has read the
 * journal after it, which continues from the checksum of its last line.
 */
export function checkAuditLog(
  disk: SimulatedDisk,
  folder: string,
  reference: ReferenceModel,
): number {
  const { audit, covers } = readSnapshot(disk, folder);
  const expected = reference.auditLogUpTo(audit.seq);
  assertPromise(
    "audit log",
    expected !== null,
    () => `state.json says that there are ${audit.seq} audited lines, which were never written`,
  );
  let length = 0;
  for (const { name, bytes } of readAuditLog(disk, join(folder, "history"), audit)) {
    const expectedPart = expected?.subarray(length, length + bytes.length) ?? bytes;
    length += bytes.length;
    assertPromise("audit log", Buffer.compare(bytes, expectedPart) === 0, () => {
      return `state.json covers line ${covers.seq}, audited line ${audit.seq}: the content of ${name} is not what was written`;
    });
  }
  assertPromise("audit log", length === expected?.length, () => {
    return `state.json covers line ${covers.seq}, audited line ${audit.seq}: the audit log has ${length} bytes, not ${expected?.length}`;
  });
  return length;
}

interface AuditLogPart {
  readonly name: string;
  readonly first: number;
  readonly bytes: Uint8Array;
}

function readAuditLog(
  disk: SimulatedDisk,
  auditFolder: string,
  audit: Snapshot["audit"],
): AuditLogPart[] {
  const parts: AuditLogPart[] = [];
  for (const name of disk.findFolder(auditFolder)?.names() ?? []) {
    const content = disk.findFile(join(auditFolder, name))?.view() ?? new Uint8Array();
    const bytes = name === audit.file ? content.subarray(0, audit.length) : content;
    const first = firstAuditSeq(bytes);
    if (first !== null && first <= audit.seq) parts.push({ name, first, bytes });
  }
  return parts.toSorted((a, b) => a.first - b.first);
}

function firstAuditSeq(bytes: Uint8Array): number | null {
  const end = bytes.indexOf(LF);
  try {
    const line = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString("utf8")) as JournalLine;
    return line.audit_seq ?? null;
  } catch {
    return null;
  }
}

/** Checks the chain of the whole audit log, as an auditor who knows only the line format would. */
export function checkAuditChain(auditLog: Uint8Array): void {
  try {
    const chain = readAuditChain(splitLines(auditLog, "the audit log"));
    for (let line = chain.next(); line.done !== true;) line = chain.next();
  } catch (error) {
    assertPromise("audit log", !(error instanceof BrokenChainError), () => String(error));
    throw error;
  }
}
