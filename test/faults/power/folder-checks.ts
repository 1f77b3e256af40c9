// Checks a data folder after a power cut without a running server: the audit log up to the end that
// the state names, and the previous checkpoint, which is kept for recovery.
import { cpSync, existsSync, rmSync } from "node:fs";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import { generationName, listGenerations, listSegments } from "../../../src/store/folder/files.ts";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { readAuditChain, readAuditTexts } from "../shared/audit-chain.ts";

async function readState(folder: string): Promise<Snapshot> {
  const state = await new StateFile(realDisk, folder).read();
  if (state === null) throw new Error(`${folder} has no state`);
  return state;
}

/** Reads a folder and describes what is wrong with it; null: nothing. */
export type FolderCheck = (folder: string) => Promise<string | null>;

/** Runs a check; an error, for example of an unreadable file, counts as its finding. */
export async function runFolderCheck(
  folder: string,
  folderCheck: FolderCheck,
): Promise<string | null> {
  try {
    return await folderCheck(folder);
  } catch (error) {
    return String(error);
  }
}

/** The audit log must be one chain that ends where the state says. */
export const checkAuditLog: FolderCheck = async (folder) => {
  const { audit } = await readState(folder);
  let [seq, sum] = [0, GENESIS];
  for (const line of readAuditChain(readAuditTexts(folder, audit)))
    [seq, sum] = [line.audit_seq, line.sum];
  if (seq === audit.seq && sum === audit.sum) return null;
  return `the audit log ends with line ${seq}, but the state says ${audit.seq}`;
};

/** There must be a previous checkpoint and the whole journal since. */
export const checkPreviousCheckpoint: FolderCheck = async (folder) => {
  const { covers } = await readState(folder);
  const segments = listSegments(realDisk, folder);
  for (const { number } of listGenerations(realDisk, folder).toReversed()) {
    if (number === covers.seq) continue;
    const previous = await new StateFile(realDisk, folder, generationName(number)).read();
    if (previous?.covers.seq !== number)
      return `${generationName(number)} does not cover the lines that its name says`;
    if (segments.some((segment) => segment.number === number + 1)) return null;
    return `${generationName(number)} exists, but the journal segment after it is missing`;
  }
  return "there is no previous checkpoint";
};

/** Copies a data folder, to investigate a failure; sockets cannot be copied. */
export function copyFolder(folder: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  if (!existsSync(folder)) return;
  cpSync(folder, to, { recursive: true, filter: (path) => !path.endsWith(".sock") });
}
