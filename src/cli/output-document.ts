import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { realDisk } from "../platform/disk.ts";
import type { DocumentKind } from "../license/document.ts";
import { DOCUMENT_KIND_NAMES, findMismatchedKind } from "../license/document-kinds.ts";
import { splitIntoFrames, renderQrForTerminal } from "../license/qr.ts";
import { Misuse } from "../platform/options.ts";
import { isFlagSet, getStringFlag, type FlagValues } from "./command.ts";
import { readInputBytes } from "./input-file.ts";
import { refuseSpecialFile, writeOutputText } from "./output-file.ts";
import { print, printRaw, printText } from "./terminal.ts";

/** Gives a text to whoever carries it on: into a file, onto the screen, as QR codes. */
export async function outputDocument(given: FlagValues, text: string, what: string): Promise<void> {
  const out = getStringFlag(given, "out");
  if (out === null) printText(text);
  else {
    refuseToOverwrite(out);
    await writeOutputText(out, `${text}\n`);
    print(`${what} is written to ${out}`);
  }
  if (isFlagSet(given, "qr")) printQrCodes(text, what);
}

export function printQrCodes(text: string, what: string): void {
  const frames = splitIntoFrames(text);
  for (const [index, frame] of frames.entries()) {
    print(`\n${what}, code ${index + 1} of ${frames.length}`);
    printRaw(renderQrForTerminal(frame));
  }
}

/** Asked before anything is recorded that only this file would tell. */
export function checkOutputPath(given: FlagValues, kind: DocumentKind | null = null): void {
  const out = getStringFlag(given, "out");
  if (out === null) return;
  if (isFlagSet(given, "json")) {
    throw new Misuse(
      "--out and --json exclude each other",
      "the JSON output contains the content of the file",
    );
  }
  refuseToOverwrite(out, kind);
  accessSync(dirname(out), constants.W_OK);
}

/** Only an earlier document may be replaced: never a key, a ledger, or somebody's letter. */
function refuseToOverwrite(path: string, kind: DocumentKind | null = null): void {
  refuseSpecialFile(path);
  const bytes = realDisk.read(path);
  if (bytes === null || bytes.length === 0) return;
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_BYTES)).trim();
  const other = kind === null ? null : findMismatchedKind(text, kind);
  if (kind !== null && other !== null) {
    throw new Misuse(
      `${path} is ${DOCUMENT_KIND_NAMES[other]}; it is not overwritten with ${DOCUMENT_KIND_NAMES[kind]}`,
      "choose another --out",
    );
  }
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return;
  throw new Misuse(`${path} already exists and is not a Berth document`, "choose another --out");
}

const MAX_BYTES = 64 * 1024;

/** A file named as a word or a flag, or `-` for standard input. */
export const readInputText = (path: string | undefined | null, what: string): string =>
  new TextDecoder().decode(readInputBytes(path, what));
