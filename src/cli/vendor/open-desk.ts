import { realDisk } from "../../platform/disk.ts";
import { Misuse } from "../../platform/options.ts";
import { Desk } from "../../desk/desk.ts";
import { loadDeskRecords, type DeskRecords } from "../../desk/desk-records.ts";
import { isFlagSet, getStringFlag, type FlagValues } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { readInputText } from "../files/output-document.ts";
import { askSecret, askSecretTwice } from "../files/secret-input.ts";
import { printWarning } from "../frame/terminal.ts";

/** The flag of every desk command. */
export const deskFolderFlag = {
  ...option.deskFolder,
  isRequired: true,
  missingHint: "specify the desk's folder",
} as const;

/** The flags of every command that signs with the vendor's key. */
export const deskFlags = [deskFolderFlag, option.passphraseFile] as const;

export function getDeskFolder(flags: FlagValues): string {
  const folder = getStringFlag(flags, "dir");
  if (folder === null) throw new Misuse("--dir is required", "specify the desk's folder");
  return folder;
}

/** For commands that are printed to be copied: quoted if a shell would split the path. */
export const formatDirFlag = (folder: string): string =>
  `--dir ${/^[\w./:@%+,-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`}`;

export async function openDesk(flags: FlagValues): Promise<Desk> {
  const folder = getDeskFolder(flags);
  await Desk.refuseIncompleteTrustChain(realDisk, folder);
  const desk = await Desk.open(realDisk, folder, await readCurrentPassphrase(flags));
  printNotes(desk);
  return desk;
}

/** For commands that only read, or add to the ledger: they need no key and no passphrase. */
export async function openDeskRecords(folder: string): Promise<DeskRecords> {
  const records = await loadDeskRecords(realDisk, folder);
  printNotes(records);
  return records;
}

function printNotes({ notes }: DeskRecords): void {
  for (const note of notes) printWarning(note);
}

/** From the file, or typed once on the terminal; null: not needed, or not available. */
export async function readCurrentPassphrase(flags: FlagValues): Promise<string | null> {
  const isNeeded = await Desk.needsPassphrase(realDisk, getDeskFolder(flags));
  const fromFile = readPassphraseFlag(flags, "passphrase-file");
  if (!isNeeded || fromFile !== null || !process.stdin.isTTY) return fromFile;
  return askSecret("passphrase");
}

/**
 * For a key that is about to be stored. Storing it without a passphrase requires a flag: it must
 * never happen by default.
 */
export async function readNewPassphrase(
  flags: FlagValues,
  flag: "passphrase-file" | "new-passphrase-file",
): Promise<string | null> {
  checkNewPassphraseFlags(flags, flag);
  if (isFlagSet(flags, "no-passphrase")) return null;
  return readPassphraseFlag(flags, flag) ?? (await askSecretTwice("new passphrase"));
}

/** Called before anything else is asked or done. */
export function checkNewPassphraseFlags(
  flags: FlagValues,
  flag: "passphrase-file" | "new-passphrase-file",
): void {
  if (isFlagSet(flags, "no-passphrase") || flags.values.has(flag) || process.stdin.isTTY) return;
  throw new Misuse(
    "a passphrase is required and there is no terminal to ask for it",
    `use --${flag} FILE, or --no-passphrase to store the key without one`,
  );
}

export function readPassphraseFlag(flags: FlagValues, flag: string): string | null {
  const path = getStringFlag(flags, flag);
  if (path === null) return null;
  const [line = ""] = readInputText(path, "the passphrase").split(/\r?\n/);
  if (line === "")
    throw new Misuse(
      "the passphrase is empty",
      "the first line of the file must be the passphrase",
    );
  return line;
}

export function getNumberFlag(flags: FlagValues, name: string): number | null {
  const text = getStringFlag(flags, name);
  if (text === null) return null;
  if (!/^\d{1,16}$/.test(text))
    throw new Misuse(`--${name} must be a number`, "berth vendor list shows the numbers");
  return Number(text);
}
