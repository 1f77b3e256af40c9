import { join } from "node:path";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { readAuditEnd } from "../../store/checkpoint/unfinished-checkpoint.ts";
import { USAGE_FOLDER } from "../../store/folder/files.ts";
import { UsageTable } from "../../usage/usage-table.ts";
import { checkRecordedLines } from "./recorded-lines.ts";
import { readUsageFile, UsageDamaged } from "./usage-files.ts";
import { positionPath, readPosition, type UsagePosition } from "./usage-position.ts";

/**
 * What is wrong with the files of the folder `usage/`; null: nothing. `auditSeq` is the last line of
 * the audit log that the newest checkpoint covers.
 */
export function findUsageProblem(disk: Disk, folder: string, auditSeq: number): string | null {
  if (auditSeq === 0) return null;
  if (disk.stat(join(folder, USAGE_FOLDER)) === null) return "the usage files do not exist";
  try {
    return findProblemOfFiles(disk, folder, auditSeq);
  } catch (error) {
    return `the usage files cannot be read: ${messageOfError(error)}`;
  }
}

/**
 * For a server that starts: why the files do not cover the newest checkpoint; null: they do, or
 * there are none, as after a restore. Costs the reading of one small file.
 */
export function findUsageLag(disk: Disk, folder: string): string | null {
  try {
    const { seq = 0 } = readAuditEnd(disk, folder) ?? {};
    if (seq === 0 || disk.stat(join(folder, USAGE_FOLDER)) === null) return null;
    return findLag(folder, readPosition(disk, folder), seq);
  } catch (error) {
    return messageOfError(error);
  }
}

function findLag(folder: string, position: UsagePosition | null, auditSeq: number): string | null {
  if (position === null) return `${positionPath(folder)} is missing or cannot be read`;
  if (position.audit_seq >= auditSeq) return null;
  return `the usage files end at line ${position.audit_seq} of the audit log, the last checkpoint at line ${auditSeq}`;
}

function findProblemOfFiles(disk: Disk, folder: string, auditSeq: number): string | null {
  const position = readPosition(disk, folder);
  const lag = findLag(folder, position, auditSeq);
  if (position === null || lag !== null) return lag;
  try {
    for (const file of position.files) readUsageFile(disk, folder, file, new UsageTable());
    checkRecordedLines(disk, folder, position);
    return null;
  } catch (error) {
    if (!(error instanceof UsageDamaged)) throw error;
    // A running server may have replaced the file since.
    const isReplaced = readPosition(disk, folder)?.newest_file !== position.newest_file;
    return isReplaced ? null : error.message;
  }
}
