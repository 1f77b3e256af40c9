import { join } from "node:path";
import type { State } from "../../domain/state.ts";
import type { Disk } from "../../platform/disk.ts";
import { STATE_FILE } from "../folder/files.ts";
import { FolderRefused } from "../folder/refusal.ts";
import { findRecoveryHint, type ReplayResult } from "../journal/replay.ts";

/** A part of the state that has no valid vendor signature. */
export interface UnsignedFinding {
  /** Null: it does not concern one license. */
  readonly license: number | null;
  readonly description: string;
  /** What helps if no earlier state does; absent: a backup. */
  readonly hint?: string;
}

/**
 * Checks the licenses of a folder against the documents their vendors signed; null: all of them
 * match. Passed in by the caller, because the store does not know signatures.
 */
export type SignatureCheck = (state: State) => Promise<UnsignedFinding | null>;

/**
 * Throws if the state has an unsigned license, with its location and the command that helps;
 * changes nothing.
 */
export async function refuseUnsigned(
  disk: Disk,
  folder: string,
  { state, installedBy }: Pick<ReplayResult, "state" | "installedBy">,
  check: SignatureCheck | undefined,
): Promise<void> {
  const finding = await check?.(state);
  if (finding == null) return;
  const path = join(folder, STATE_FILE);
  const location = installedBy.get(finding.license ?? -1) ?? path;
  const recoveryHint = await findRecoveryHint(disk, folder, path, check);
  const backupHint = "restore a backup with berth restore FILE; nothing was changed";
  throw new FolderRefused(
    `${location}: ${finding.description}`,
    recoveryHint ?? finding.hint ?? backupHint,
  );
}
