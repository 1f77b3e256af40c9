import { accessSync, constants } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { readDocumentHeader } from "../license/document.ts";
import { describeDocumentKind } from "../license/document-kinds.ts";
import { Misuse } from "../platform/options.ts";
import { DOWNLOADS_FOLDER, IDENTITY_FILE } from "../store/files.ts";
import { BackupRefused } from "../store/refusal.ts";
import { dataFolder, type Given } from "./command.ts";
import { isArchive } from "./input-document.ts";
import { firstBytes, isEmptyFile, isFolder } from "./input-file.ts";
import { refuseSpecialFile } from "./output-file.ts";

/** FILE, to be written: a full path, outside of the data folder it is made of. */
export function newFile(given: Given, thing: string, example: string): string {
  const path = named(given, "a new file to write", example);
  const folder = dataFolder(given);
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
export function fileThere(given: Given, what: string, example: string): string {
  const path = named(given, what, example);
  if (firstBytes(path, 1, what).length === 0) throw isEmptyFile(path);
  return path;
}

/** FILE, a backup to be read. */
export function backupThere(given: Given, what: string, example: string): string {
  const path = fileThere(given, what, example);
  checkBackup(path);
  return path;
}

/** Tells a file that was never a backup from one that is damaged. */
export function checkBackup(path: string): void {
  const bytes = firstBytes(path, MOST_OF_DOCUMENT, "a backup");
  if (bytes.length === 0) throw isEmptyFile(path);
  const beginning = new TextDecoder("latin1").decode(bytes);
  if (isArchive(bytes) || beginning.startsWith(IDENTITY_FILE)) return;
  const header = readDocumentHeader(beginning.trim());
  const hint = header.ok
    ? `it is ${describeDocumentKind(header.value.kind)}`
    : "use another backup file";
  throw new BackupRefused(`${path} is not a Berth backup`, hint);
}

/** Enough to tell any signed document. */
const MOST_OF_DOCUMENT = 64 * 1024;

function named({ words: [file] }: Given, what: string, example: string): string {
  if (file === undefined || file === "") {
    throw new Misuse(`FILE is required: ${what}`, `for example /media/usb/${example}`);
  }
  return resolve(file);
}
