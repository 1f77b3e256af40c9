import { accessSync, constants } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { readDocumentHeader } from "../license/document.ts";
import { describeDocumentKind } from "../license/document-kinds.ts";
import { Misuse } from "../platform/options.ts";
import { DOWNLOADS_FOLDER, IDENTITY_FILE } from "../store/files.ts";
import { BackupRefused } from "../store/refusal.ts";
import { getDataFolder, type FlagValues } from "./command.ts";
import { isArchive } from "./input-document.ts";
import { readFirstBytes, emptyFileError, isFolder } from "./input-file.ts";
import { refuseSpecialFile } from "./output-file.ts";

/** FILE, to be written: a full path, outside of the data folder it is made of. */
export function getNewFileArgument(given: FlagValues, thing: string, example: string): string {
  const path = getPathArgument(given, "a new file to write", example);
  const folder = getDataFolder(given);
  // What a running server hands out it makes in a place of its own there, where there is room.
  if (isInside(folder, path) && !isInside(join(folder, DOWNLOADS_FOLDER), path)) {
    throw new Misuse(
      `${thing} must not be written inside the data folder`,
      "choose another folder",
    );
  }
  refuseSpecialFile(path);
  if (isFolder(path)) {
    throw new BackupRefused(`${path} is a folder`, `specify a file in it: ${join(path, example)}`);
  }
  // Now, not when a host has given everything up for it.
  accessSync(dirname(path), constants.W_OK);
  return path;
}

const isInside = (folder: string, path: string): boolean =>
  `${dirname(path)}${sep}`.startsWith(`${folder}${sep}`);

/** FILE, to be read. */
export function getFileArgument(given: FlagValues, what: string, example: string): string {
  const path = getPathArgument(given, what, example);
  if (readFirstBytes(path, 1, what).length === 0) throw emptyFileError(path);
  return path;
}

/** FILE, a backup to be read. */
export function getBackupArgument(given: FlagValues, what: string, example: string): string {
  const path = getFileArgument(given, what, example);
  checkBackup(path);
  return path;
}

/** Tells a file that was never a backup from one that is damaged. */
export function checkBackup(path: string): void {
  const bytes = readFirstBytes(path, MAX_HEADER_BYTES, "a backup");
  if (bytes.length === 0) throw emptyFileError(path);
  const beginning = new TextDecoder("latin1").decode(bytes);
  if (isArchive(bytes) || beginning.startsWith(IDENTITY_FILE)) return;
  const header = readDocumentHeader(beginning.trim());
  const hint = header.ok
    ? `it is ${describeDocumentKind(header.value.kind)}`
    : "use another backup file";
  throw new BackupRefused(`${path} is not a Berth backup`, hint);
}

/** Enough to tell any signed document. */
const MAX_HEADER_BYTES = 64 * 1024;

function getPathArgument(
  { positionals: [file] }: FlagValues,
  what: string,
  example: string,
): string {
  if (file === undefined || file === "") {
    throw new Misuse(`FILE is required: ${what}`, `for example /media/usb/${example}`);
  }
  return resolve(file);
}
