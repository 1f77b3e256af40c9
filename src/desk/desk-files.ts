import { join } from "node:path";
import type { Disk } from "../platform/files/disk.ts";
import { errorCode } from "../platform/files/system-error.ts";
import { isIssuingKeyFile } from "./key-file.ts";
import { HEAD_FILE, LEDGER_FILE } from "./ledger/ledger-lines.ts";
import { STATEMENTS_FILE } from "./ledger/statement-file.ts";
import { TRUST_FILE } from "./trust-document.ts";

/** The subfolder with files of license terms. */
export const PRESETS_FOLDER = "presets";

const NAMES = new Set([TRUST_FILE, LEDGER_FILE, HEAD_FILE, STATEMENTS_FILE]);
const TORN = /^(?:ledger|statements)\.jsonl\.\d{1,16}\.torn$/;
const PRESET = /^presets\/[^./\\:\p{Cc}][^/\\:\p{Cc}]{0,199}\.json$/u;

/** A file that exists only while a command writes. */
const isTemporary = (name: string): boolean => /\.(?:lock|new)$/.test(name);

/** Whether a file belongs to a desk: a backup has these and no others. */
export const isDeskFile = (name: string): boolean =>
  NAMES.has(name) || isIssuingKeyFile(name) || TORN.test(name) || PRESET.test(name);

/** Whether a file only grows, or never changes. */
export const isAppendOnly = (name: string): boolean => name.includes(".jsonl");

/** The names of everything in the folder and its presets, without what only a command leaves. */
export function listDeskFolder(disk: Disk, folder: string): string[] {
  const presets = listPresets(disk, folder).map((name) => `${PRESETS_FOLDER}/${name}`);
  return [...disk.list(folder).filter((name) => name !== PRESETS_FOLDER), ...presets]
    .filter((name) => !isTemporary(name))
    .toSorted();
}

/** Empty: there is no such folder. */
export function listPresets(disk: Disk, folder: string): string[] {
  try {
    return disk.list(join(folder, PRESETS_FOLDER));
  } catch (error) {
    if (errorCode(error) === "ENOTDIR") return [];
    throw error;
  }
}
