import type { State } from "../../domain/model/state.ts";
import { ok, type Result } from "../../domain/result.ts";
import { latest, type Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import type { AuditLogSource } from "../../store/audit/line-locator.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import { replay, type ReplayResult } from "../../store/journal/replay.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import type { Store } from "../../store/store.ts";
import { readLiveFolder } from "../folder/live-folder.ts";

/** A site as reports read it: its state, and the audit log that led to it. */
export interface SiteHistory {
  readonly read: <T>(
    view: (state: State, context: { readonly at: Instant }) => T,
  ) => Promise<Result<T, StorageFault>>;
  readonly auditLogSource: () => AuditLogSource;
  /** A line of the audit log could not be read. */
  readonly noteUnreadableLine: (auditSeq: number) => void;
  /** Between 0 and 1: how much of the audit log was read. */
  readonly noteProgress: (share: number) => void;
}

/** The history of the open folder: the state changes while its past is read. */
export const openHistory = (store: Store): SiteHistory => ({
  read: (view) => store.read(view),
  auditLogSource: () => store.auditLogSource(),
  noteUnreadableLine: (auditSeq) => store.auditHealth.noteUnreadableLine(auditSeq),
  noteProgress() {},
});

/**
 * The history of a folder that a server may have open, read from its files. `now` is the time of
 * the appliance.
 */
export async function readHistory(
  disk: Disk,
  folder: string,
  now: Instant,
  notes: Pick<SiteHistory, "noteUnreadableLine" | "noteProgress">,
): Promise<SiteHistory> {
  // The last lines may be half-written, and the log of a pair then has them.
  const replayed = await readLiveFolder(() => replay(disk, folder, () => {}, { hasLog: true }));
  if (replayed === null) throw new FolderRefused(`${folder} is not a data folder`, "");
  return { ...historyOf(disk, folder, now, replayed), ...notes };
}

function historyOf(
  disk: Disk,
  folder: string,
  now: Instant,
  { state, head, snapshot }: ReplayResult,
): Pick<SiteHistory, "read" | "auditLogSource"> {
  const source: AuditLogSource = {
    disk,
    folder,
    coveredSeq: snapshot.covers.seq,
    lastSeq: head.auditSeq,
    gaps: state.auditGaps,
  };
  // Changes since the server read its clock are in the files.
  const at = latest(now, state.latestEventAt);
  return { read: async (view) => ok(view(state, { at })), auditLogSource: () => source };
}
