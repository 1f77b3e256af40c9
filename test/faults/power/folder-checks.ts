// Checks a data folder after a power cut without a running server: the audit log up to the end that
// the state names, and the previous checkpoint, which is kept for recovery.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import {
  generationName,
  listGenerations,
  AUDIT_FOLDER,
  listSegments,
} from "../../../src/store/folder/files.ts";
import { decodeLine } from "../../../src/store/journal/journal.ts";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";

interface AuditLogFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly first: number;
}

const LF = 10;

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
  const files = readdirSync(join(folder, AUDIT_FOLDER)).map((name) =>
    readAuditLogFile(folder, name),
  );
  let [seq, sum] = [0, GENESIS];
  for (const { name, bytes } of files.toSorted((a, b) => a.first - b.first)) {
    if (audit.file === null) break;
    const end = name === audit.file ? audit.length : bytes.length;
    if (bytes.length < end) return `${name} has ${bytes.length} bytes and should have ${end}`;
    for (let at = 0; at < end; at = bytes.indexOf(LF, at) + 1) {
      const lineEnd = bytes.indexOf(LF, at);
      const line = decodeLine(bytes.subarray(at, lineEnd < 0 ? end : lineEnd));
      if (line === null) return `${name} is damaged at byte ${at}`;
      if (line.audit_seq !== seq + 1 || line.audit_prev !== sum) {
        return `${name} does not continue its chain at byte ${at}, after line ${seq}`;
      }
      [seq, sum] = [line.audit_seq, line.sum];
    }
    // Anything beyond this end was written by a checkpoint that did not finish.
    if (name === audit.file) break;
  }
  if (seq === audit.seq && sum === audit.sum) return null;
  return `the audit log ends with line ${seq}, but the state says ${audit.seq}`;
};

function readAuditLogFile(folder: string, name: string): AuditLogFile {
  const bytes = new Uint8Array(readFileSync(join(folder, AUDIT_FOLDER, name)));
  const first = decodeLine(bytes.subarray(0, Math.max(0, bytes.indexOf(LF))));
  return { name, bytes, first: first?.audit_seq ?? Infinity };
}

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

/** After a clean stop the state must contain everything. */
export const checkNothingToReplay: FolderCheck = async (folder) => {
  const { covers } = await readState(folder);
  const unreplayedBytes = listSegments(realDisk, folder)
    .filter(({ number }) => number > covers.seq)
    .reduce((sum, { path }) => sum + (realDisk.stat(path)?.size ?? 0), 0);
  return unreplayedBytes === 0 ? null : `${unreplayedBytes} bytes of journal are not in state.json`;
};

/** Copies a data folder, to investigate a failure; sockets cannot be copied. */
export function copyFolder(folder: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  if (!existsSync(folder)) return;
  cpSync(folder, to, { recursive: true, filter: (path) => !path.endsWith(".sock") });
}
