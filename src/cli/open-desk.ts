import { realDisk } from "../platform/disk.ts";
import { Misuse } from "../platform/options.ts";
import { Desk } from "../vendor/desk.ts";
import { stringOf, type Given } from "./command.ts";
import { option } from "./flags.ts";
import { readInput } from "./handing-over.ts";
import { printWarning } from "./terminal.ts";

/** What every command of the vendor's desk takes. */
export const deskFlags = [option.dir, option.passphraseFile] as const;

export function deskFolder(given: Given): string {
  const folder = stringOf(given, "dir");
  if (folder === null) throw new Misuse("--dir must be given", "the desk's folder");
  return folder;
}

export async function openDesk(given: Given): Promise<Desk> {
  const desk = await Desk.open(realDisk, deskFolder(given), passphraseIn(given));
  for (const note of desk.ledger.notes) printWarning(note);
  return desk;
}

export function passphraseIn(given: Given): string | null {
  const path = stringOf(given, "passphrase-file");
  if (path === null) return null;
  const [line = ""] = readInput(path, "the passphrase").split(/\r?\n/);
  if (line === "") throw new Misuse("the passphrase is empty", "its file's first line");
  return line;
}

export function numberFlag(given: Given, name: string): number | null {
  const text = stringOf(given, name);
  if (text === null) return null;
  if (!/^\d{1,16}$/.test(text))
    throw new Misuse(`--${name} must be a number`, "berth vendor list shows them");
  return Number(text);
}
