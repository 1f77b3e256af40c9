import { accessSync, constants } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { readDocumentHeader } from "../../license/documents/document.ts";
import { describeDocumentKind } from "../../license/documents/document-kinds.ts";
import { beginsLikeBackup } from "../../operations/backups/backup.ts";
import { isDownloadPath } from "../../operations/backups/downloads.ts";
import { Misuse } from "../frame/options.ts";
import { Failure } from "../frame/command.ts";
import { isArchive } from "./input-document.ts";
import { readFirstBytes, emptyFileError, isFolder, requireRegularFile } from "./input-file.ts";
import { refuseSpecialFile } from "./output-file.ts";

/** The FILE to write: a full path outside the data folder that it is made from. */
export function checkNewFile(
  file: string | undefined,
  folder: string,
  thing: string,
  example: string,
): string {
  const path = checkPath(file, "a new file to write", example);
  // Except for a running server's downloads, which have their own folder in the data folder.
  if (isInside(folder, path) && !isDownloadPath(folder, path)) {
    throw new Misuse(
      `${thing} must not be written inside the data folder`,
      "choose another folder",
    );
  }
  refuseSpecialFile(path);
  if (isFolder(path)) {
    throw backupRefusedError(`${path} is a folder`, `specify a file in it: ${join(path, example)}`);
  }
  // Checked now, not after a host was retired for a move.
  accessSync(dirname(path), constants.W_OK);
  return path;
}

const isInside = (folder: string, path: string): boolean =>
  `${dirname(path)}${sep}`.startsWith(`${folder}${sep}`);

/** The FILE to read. */
export function checkFile(file: string | undefined, what: string, example: string): string {
  const path = checkPath(file, what, example);
  requireRegularFile(path, what);
  if (readFirstBytes(path, 1, what).length === 0) throw emptyFileError(path);
  return path;
}

/** The FILE to read, which must be a backup. */
export function checkBackupFile(file: string | undefined, what: string, example: string): string {
  const path = checkFile(file, what, example);
  checkBackup(path);
  return path;
}

/** Refuses a file that is not a backup, with another error than for a damaged backup. */
export function checkBackup(path: string): void {
  requireRegularFile(path, "a backup");
  const bytes = readFirstBytes(path, MAX_HEADER_BYTES, "a backup");
  if (bytes.length === 0) throw emptyFileError(path);
  const beginning = new TextDecoder("latin1").decode(bytes);
  if (isArchive(bytes) || beginsLikeBackup(beginning)) return;
  const header = readDocumentHeader(beginning.trim());
  const hint = header.ok
    ? `it is ${describeDocumentKind(header.value.kind)}`
    : "use another backup file";
  throw backupRefusedError(`${path} is not a Berth backup`, hint);
}

/** The same error code as for a backup whose content is refused. */
export const backupRefusedError = (message: string, hint: string): Failure =>
  new Failure(message, hint, "backup_refused");

/** Enough to recognize any signed document. */
const MAX_HEADER_BYTES = 64 * 1024;

function checkPath(file: string | undefined, what: string, example: string): string {
  if (file === undefined || file === "") {
    throw new Misuse(`FILE is required: ${what}`, `for example /media/usb/${example}`);
  }
  return resolve(file);
}
