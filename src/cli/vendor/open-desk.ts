import { lstatSync } from "node:fs";
import { join } from "node:path";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { Failure } from "../frame/command.ts";
import { Misuse } from "../frame/options.ts";
import { Desk } from "../../desk/desk.ts";
import { isKeyEncrypted, loadDeskRecords, type DeskRecords } from "../../desk/desk-records.ts";
import { withDeskLock } from "../../desk/ledger/ledger.ts";
import { option } from "../frame/flags.ts";
import { readInputText } from "../files/output-document.ts";
import { askSecret, askSecretTwice } from "../files/secret-input.ts";
import { canAsk, printWarning } from "../frame/terminal.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";

/** The options of every command that signs with the vendor's key. */
export const deskOptions = {
  dir: option.deskFolder,
  passphraseFile: option.passphraseFile,
} as const;

interface DeskKey {
  readonly dir: string;
  /** Null: berth prompts for the passphrase. */
  readonly passphraseFile: string | null;
}

/** For commands that are printed to be copied. */
export const formatDirFlag = (folder: string): string => `--dir ${quoteIfNeeded(folder)}`;

export async function openDesk(options: DeskKey): Promise<Desk> {
  const { dir } = options;
  const records = await loadDeskRecords(realDisk, dir);
  const passphrase = await readCurrentPassphrase(options, records);
  const desk = await Desk.open(realDisk, dir, passphrase, wallClock(), records);
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
export async function readCurrentPassphrase(
  { dir, passphraseFile }: DeskKey,
  records: DeskRecords,
): Promise<string | null> {
  const isNeeded = isKeyEncrypted(realDisk, dir, records);
  const fromFile = readPassphraseFile(passphraseFile);
  if (!isNeeded || fromFile !== null || !canAsk()) return fromFile;
  // A desk that is busy for long is refused before a passphrase is typed in vain.
  await withDeskLock(realDisk, dir, async () => {});
  return askSecret("passphrase");
}

/** Where the passphrase of a key that is about to be stored comes from. */
interface NewPassphrase {
  readonly noPassphrase: boolean;
  readonly file: string | null;
  /** The flag that names the file. */
  readonly flag: "--passphrase-file" | "--new-passphrase-file" | "--root-passphrase-file";
  /** What is asked for; default: a new passphrase. */
  readonly what?: string;
}

/**
 * For a key that is about to be stored. Storing it without a passphrase requires a flag: it must
 * never happen by default.
 */
export async function readNewPassphrase(options: NewPassphrase): Promise<string | null> {
  checkNewPassphrase(options);
  if (options.noPassphrase) return null;
  return (
    readPassphraseFile(options.file) ?? (await askSecretTwice(options.what ?? "new passphrase"))
  );
}

/** Called before any prompt and before any change. */
export function checkNewPassphrase({ noPassphrase, file, flag }: NewPassphrase): void {
  if (noPassphrase || file !== null || canAsk()) return;
  throw new Misuse(
    "a passphrase is required and there is no terminal to ask for it",
    `use ${flag} FILE, or --no-passphrase to store the key without one`,
  );
}

/** A file would be ignored if the key is stored without a passphrase. */
export function refuseBothPassphrases({ noPassphrase, file, flag }: NewPassphrase): void {
  if (!noPassphrase || file === null) return;
  throw new Misuse(`--no-passphrase and ${flag} cannot be combined`, "use only one of them");
}

/** The first line of the file; null: none is named. */
export function readPassphraseFile(path: string | null): string | null {
  if (path === null) return null;
  const [line = ""] = readInputText(path, "the passphrase").split(/\r?\n/);
  if (line === "")
    throw new Misuse(
      "the passphrase is empty",
      "the first line of the file must be the passphrase",
    );
  return line;
}

/** If a link were replaced, its target would still be encrypted with the old passphrase. */
export function refuseLinkedKeys(folder: string): void {
  if (realDisk.stat(folder) === null) return;
  for (const name of realDisk.list(folder).filter((file) => /\.jw[ek]$/.test(file))) {
    const path = join(folder, name);
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    throw new Failure(
      `${path} is a symbolic link`,
      "replace the link with the key file itself, so that no copy keeps the old passphrase",
    );
  }
}
