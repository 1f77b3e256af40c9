import { realDisk } from "../platform/disk.ts";
import { Misuse } from "../platform/options.ts";
import { Desk } from "../desk/desk.ts";
import { loadDeskRecords, type DeskRecords } from "../desk/desk-records.ts";
import { isFlagSet, getStringFlag, type FlagValues } from "./command.ts";
import { option } from "./flags.ts";
import { readInputText } from "./output-document.ts";
import { askSecret, askSecretTwice } from "./secret-input.ts";
import { printWarning } from "./terminal.ts";

/** What every command of a desk takes. */
export const deskFolderFlag = { ...option.deskFolder, isRequired: true } as const;

/** What every command takes that signs with the vendor's key. */
export const deskFlags = [deskFolderFlag, option.passphraseFile] as const;

export function getDeskFolder(given: FlagValues): string {
  const folder = getStringFlag(given, "dir");
  if (folder === null) throw new Misuse("--dir is required", "specify the desk's folder");
  return folder;
}

/** For a command that is printed to be copied: quoted where a shell would split it. */
export const formatDirFlag = (folder: string): string =>
  `--dir ${/^[\w./:@%+,-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`}`;

export async function openDesk(given: FlagValues): Promise<Desk> {
  const folder = getDeskFolder(given);
  await Desk.refuseIncompleteTrustChain(realDisk, folder);
  const desk = await Desk.open(realDisk, folder, await readCurrentPassphrase(given));
  printNotes(desk);
  return desk;
}

/** For commands that only read, or add to the ledger: they need no key and no passphrase. */
export async function openDeskRecords(given: FlagValues): Promise<DeskRecords> {
  const records = await loadDeskRecords(realDisk, getDeskFolder(given));
  printNotes(records);
  return records;
}

function printNotes({ notes }: DeskRecords): void {
  for (const note of notes) printWarning(note);
}

/** From the file, or once from the person at the terminal; null where none is needed or known. */
export async function readCurrentPassphrase(given: FlagValues): Promise<string | null> {
  const needed = await Desk.needsPassphrase(realDisk, getDeskFolder(given));
  const named = readPassphraseFlag(given, "passphrase-file");
  if (!needed || named !== null || !process.stdin.isTTY) return named;
  return askSecret("passphrase");
}

/**
 * For a key that is about to be stored. A key without a passphrase has to be asked for: nobody
 * should have one by saying nothing.
 */
export async function readNewPassphrase(
  given: FlagValues,
  flag: "passphrase-file" | "new-passphrase-file",
): Promise<string | null> {
  checkNewPassphraseFlags(given, flag);
  if (isFlagSet(given, "no-passphrase")) return null;
  return readPassphraseFlag(given, flag) ?? (await askSecretTwice("new passphrase"));
}

/** Before anything else is asked or done. */
export function checkNewPassphraseFlags(
  given: FlagValues,
  flag: "passphrase-file" | "new-passphrase-file",
): void {
  if (isFlagSet(given, "no-passphrase") || given.values.has(flag) || process.stdin.isTTY) return;
  throw new Misuse(
    "a passphrase is required and there is no terminal to ask for it",
    `use --${flag} FILE, or --no-passphrase to store the key without one`,
  );
}

export function readPassphraseFlag(given: FlagValues, flag: string): string | null {
  const path = getStringFlag(given, flag);
  if (path === null) return null;
  const [line = ""] = readInputText(path, "the passphrase").split(/\r?\n/);
  if (line === "")
    throw new Misuse(
      "the passphrase is empty",
      "the first line of the file must be the passphrase",
    );
  return line;
}

export function getNumberFlag(given: FlagValues, name: string): number | null {
  const text = getStringFlag(given, name);
  if (text === null) return null;
  if (!/^\d{1,16}$/.test(text))
    throw new Misuse(`--${name} must be a number`, "berth vendor list shows the numbers");
  return Number(text);
}
