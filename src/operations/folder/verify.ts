import type { AuditGap, DataFolderKind, Retirement, State } from "../../domain/model/state.ts";
import type { Pair } from "../../domain/model/pair/pair.ts";
import type { Instant } from "../../domain/time.ts";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { checkAuditLog, type AuditDamage } from "../../store/audit/damage.ts";
import {
  generationName,
  listGenerations,
  listSegments,
  STATE_FILE,
} from "../../store/folder/files.ts";
import { scanSegment, type ChainHead } from "../../store/journal/journal.ts";
import type { AuditLogTotals } from "../../store/audit/audit-log.ts";
import { FolderRefused, FormatRefused } from "../../store/folder/refusal.ts";
import { applyLine, readSegment, replay } from "../../store/journal/replay.ts";
import { refuseUnsigned } from "../../store/state/refuse-unsigned.ts";
import type { SignatureCheck } from "../../store/state/signature-check.ts";
import { STATE_FORMAT, type Snapshot } from "../../store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "../../store/state/state-rows.ts";
import { StateFile } from "../../store/state/state-file.ts";
import { readLiveFolder } from "./live-folder.ts";

/** The result of a verification that found no damage, except as `auditDamage` says. */
export interface VerifyReport {
  readonly kind: DataFolderKind;
  readonly appliance: string;
  readonly licenses: number;
  readonly registrations: number;
  /** Where both chains end; `coveredSeq` is the last line that `state.json` covers. */
  readonly head: ChainHead;
  readonly coveredSeq: number;
  readonly mark: Instant;
  /** The appliance was moved away from here; null: it was not. */
  readonly retired: Retirement | null;
  /** The hosts that serve the appliance; null: one host alone. */
  readonly pair: Pair | null;
  /** The segments, by their first lines. */
  readonly segments: readonly number[];
  readonly auditLog: AuditLogTotals & { readonly from: number; readonly to: number };
  /** Lines of the audit log that were declared missing. */
  readonly auditGaps: readonly AuditGap[];
  /** Damage of the audit log that was not declared; null: none. */
  readonly auditDamage: AuditDamage | null;
  /** The kept generations from which the journal leads to exactly this state. */
  readonly generations: readonly number[];
  /** Bytes of an interrupted write at the end of the journal. */
  readonly tornBytes: number;
  /** Files with interrupted writes that were cut off earlier. */
  readonly tornFiles: readonly string[];
}

export interface VerifyOptions {
  /** Throws if the key in the folder is not this appliance's. */
  readonly identity: (disk: Disk, folder: string, appliance: string) => void;
  readonly checkSignatures?: SignatureCheck | undefined;
  /** Called with the state that the folder leads to, after its signatures were checked. */
  readonly onState?: (state: State) => void;
  /** Called for each line of the audit chain, in order. */
  readonly onAuditedLine?: (seq: number, sum: string) => void;
  /** Continues with a damaged audit log, and reports the damage; otherwise it is refused. */
  readonly allowAuditDamage?: boolean;
}

/**
 * Reads a whole data folder and changes nothing. Checks the state and its checksum, the journal
 * after it line by line, and the audit log line by line from its anchor. Each kept generation with
 * the journal since must lead to the same state.
 */
export async function verify(
  disk: Disk,
  folder: string,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const { identity, checkSignatures, onAuditedLine = () => {}, allowAuditDamage = false } = options;
  const journaledLines: [number, string][] = [];
  const replayed = await replay(disk, folder, ({ audit_seq, sum }) => {
    if (audit_seq !== undefined) journaledLines.push([audit_seq, sum]);
  });
  if (replayed === null) {
    throw new FolderRefused(
      `${folder} is not a data folder`,
      "specify another folder with --data DIR",
    );
  }
  const { snapshot, state, head, segments, tornTail } = replayed;
  identity(disk, folder, state.appliance);
  await refuseUnsigned(disk, folder, replayed, checkSignatures);
  options.onState?.(state);
  // The anchor is a line of the chain too, even if nothing else is left of that time.
  const { anchor } = snapshot.audit;
  if (anchor.seq > 0) onAuditedLine(anchor.seq, anchor.sum);
  const { auditGaps } = state;
  const { totals, damage } = checkAuditLog(disk, folder, snapshot.audit, auditGaps, {
    onLine: onAuditedLine,
    allowDamage: allowAuditDamage,
  });
  for (const [seq, sum] of journaledLines) onAuditedLine(seq, sum);
  const generations: number[] = [];
  for (const { number } of listGenerations(disk, folder)) {
    if (await leadsToState(disk, folder, number, snapshot).catch(isFromNewerVersion))
      generations.push(number);
  }
  return {
    kind: state.kind,
    appliance: state.appliance,
    licenses: state.licenses.size,
    registrations: countRegistrations(state.licenses.values()),
    head,
    coveredSeq: snapshot.covers.seq,
    mark: state.latestEventAt,
    retired: state.retirement,
    pair: state.pair,
    segments: segments.map(({ number }) => number),
    auditLog: { ...totals, from: snapshot.audit.anchor.seq + 1, to: snapshot.audit.seq },
    auditGaps: auditGaps.filter(({ to }) => to > anchor.seq),
    auditDamage: damage,
    generations,
    tornBytes: tornTail?.length ?? 0,
    tornFiles: disk.list(folder).filter((name) => name.endsWith(".torn")),
  };
}

/** The same beside a running server. */
export const verifyLiveFolder = (
  disk: Disk,
  folder: string,
  options: VerifyOptions,
): Promise<VerifyReport> =>
  readLiveFolder((isLast) => {
    const allowAuditDamage = options.allowAuditDamage === true && isLast;
    return verify(disk, folder, { ...options, allowAuditDamage });
  });

const countRegistrations = (
  licenses: Iterable<{ readonly pool: { readonly size: number } }>,
): number => [...licenses].reduce((total, { pool }) => total + pool.size, 0);

/** False: the journal from there on is not kept. A wrong generation is refused. */
async function leadsToState(
  disk: Disk,
  folder: string,
  covers: number,
  snapshot: Snapshot,
): Promise<boolean> {
  const name = generationName(covers);
  const file = new StateFile(disk, folder, name);
  const generation = await file.read().catch((error: unknown) => {
    throw generationUnusable(file.path, messageOfError(error));
  });
  if (generation === null || covers > snapshot.covers.seq) return false;
  const state = decodeSnapshot(generation);
  let head = headOf(generation);
  for (const { number, path } of listSegments(disk, folder)) {
    if (number <= covers || number > snapshot.covers.seq) continue;
    if (number !== head.seq + 1) return false;
    const { head: nextHead, damage } = scanSegment(readSegment(disk, path), head, (line) => {
      applyLine(state, folder, path, line);
    });
    if (damage !== null) throw generationUnusable(path, `is damaged at byte ${damage.offset}`);
    head = nextHead;
  }
  if (head.seq !== snapshot.covers.seq) return false;
  // A migrated state, and a migrated earlier one with the journal since, may differ in what the
  // older format did not contain.
  if (file.writtenFormat !== STATE_FORMAT) return true;
  const rebuilt = encodeSnapshot(state, head, snapshot.audit);
  const expected = encodeSnapshot(decodeSnapshot(snapshot), headOf(snapshot), snapshot.audit);
  if (!Bun.deepEquals(rebuilt, expected)) {
    throw generationUnusable(file.path, `and the journal since do not lead to ${STATE_FILE}`);
  }
  return true;
}

/** A newer version wrote events since: only that version can go back to this generation. */
function isFromNewerVersion(error: unknown): false {
  if (error instanceof FormatRefused) return false;
  throw error;
}

const generationUnusable = (path: string, problem: string): FolderRefused =>
  new FolderRefused(
    `${path} ${problem}`,
    "this older state is only a fallback: the next checkpoint replaces it",
  );
