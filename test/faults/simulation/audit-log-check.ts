import { join } from "node:path";
import { GENESIS, sha256 } from "../../../src/platform/hash.ts";
import type { JournalLine } from "../../../src/store/journal.ts";
import type { Snapshot } from "../../../src/store/snapshot.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import { assertPromise } from "./promises.ts";
import type { ReferenceModel } from "./reference-model.ts";

const LF = 10;

/** The state's rows as they lie on the disk. */
export function readSnapshot(disk: SimulatedDisk, folder: string): Snapshot {
  const bytes = disk.findFile(join(folder, "state.json"))?.view() ?? new Uint8Array();
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as Snapshot;
}

/** The segments of the journal, oldest first. */
export function listSegments(disk: SimulatedDisk, folder: string): string[] {
  const numbers = (disk.findFolder(folder)?.names() ?? []).flatMap((name) => {
    const digits = /^journal-(\d+)\.jsonl$/.exec(name)?.[1];
    return digits === undefined ? [] : [Number(digits)];
  });
  return numbers.toSorted((a, b) => a - b).map((number) => `${folder}/journal-${number}.jsonl`);
}

/** What the last line in the journal hangs the next one on. */
export function readLastSum(disk: SimulatedDisk, folder: string): string {
  for (const path of listSegments(disk, folder).toReversed()) {
    const bytes = disk.findFile(path)?.view() ?? new Uint8Array();
    const tail = Buffer.from(bytes.subarray(-TAIL.length - 1)).toString("utf8");
    if (tail !== "") return /^,"sum":"([0-9a-f]{64})"\}\n$/.exec(tail)?.[1] ?? "";
  }
  return readSnapshot(disk, folder).covers.sum;
}

const TAIL = `,"sum":"${GENESIS}"}`;

/**
 * The auditor's record as the state says it is must be every audited line, once each, byte for byte.
 * What lies beyond is the leftover of a checkpoint that did not finish. The journal after it was
 * read by the start and hangs on its last line's sum.
 */
export function checkAuditLog(
  disk: SimulatedDisk,
  folder: string,
  reference: ReferenceModel,
): number {
  const { audit, covers } = readSnapshot(disk, folder);
  const wanted = reference.auditLogUpTo(audit.seq);
  assertPromise("record", wanted !== null, () => `state.json records ${audit.seq} audited lines`);
  let length = 0;
  for (const { name, bytes } of readAuditLog(disk, join(folder, "history"), audit)) {
    const part = wanted?.subarray(length, length + bytes.length) ?? bytes;
    length += bytes.length;
    assertPromise("record", Buffer.compare(bytes, part) === 0, () => {
      return `up to ${covers.seq}, audited ${audit.seq}: ${name} is not what was written`;
    });
  }
  assertPromise("record", length === wanted?.length, () => {
    return `up to ${covers.seq}, audited ${audit.seq}: it has ${length} bytes, not ${wanted?.length}`;
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
  history: string,
  audit: Snapshot["audit"],
): AuditLogPart[] {
  const parts: AuditLogPart[] = [];
  for (const name of disk.findFolder(history)?.names() ?? []) {
    const all = disk.findFile(join(history, name))?.view() ?? new Uint8Array();
    const bytes = name === audit.file ? all.subarray(0, audit.length) : all;
    const first = firstAudited(bytes);
    if (first !== null && first <= audit.seq) parts.push({ name, first, bytes });
  }
  return parts.toSorted((a, b) => a.first - b.first);
}

function firstAudited(bytes: Uint8Array): number | null {
  const end = bytes.indexOf(LF);
  try {
    const line = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString("utf8")) as JournalLine;
    return line.audit_seq ?? null;
  } catch {
    return null;
  }
}

/** Walks the whole record as an auditor would, knowing nothing but how a line is made. */
export function checkAuditChain(record: Uint8Array): void {
  let [seq, sum] = [0, GENESIS];
  for (let start = 0; start < record.length;) {
    const end = record.indexOf(LF, start);
    const text = Buffer.from(record.subarray(start, end)).toString("utf8");
    const line = JSON.parse(text) as JournalLine;
    const content = text.slice(0, text.lastIndexOf(',"sum":'));
    const chains = line.audit_seq === seq + 1 && line.audit_prev === sum;
    assertPromise("record", chains && sha256(content) === line.sum, () => `it breaks at ${text}`);
    [seq, sum] = [seq + 1, line.sum];
    start = end + 1;
  }
}
