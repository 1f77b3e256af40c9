import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { STATE_FILE } from "../folder/files.ts";
import { FolderRefused } from "../folder/refusal.ts";
import { findRecoveryHint, type ReplayResult } from "../journal/replay.ts";
import type { SignatureCheck } from "./signature-check.ts";

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
