import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { realDisk } from "../../platform/files/disk.ts";
import { findMismatchedKind } from "../../license/documents/document.ts";
import { DOCUMENT_KIND_NAMES, type DocumentKind } from "../../license/documents/document-kinds.ts";
import { splitIntoFrames, renderQrForTerminal } from "../../license/qr/qr.ts";
import { Misuse } from "../frame/options.ts";
import { readInputBytes } from "./input-file.ts";
import { refuseSpecialFile, writeOutputText } from "./output-file.ts";
import type { TextPart } from "../frame/terminal.ts";

export interface OutputOptions {
  /** Null: the document is printed. */
  readonly out: string | null;
  readonly qr: boolean;
}

/** Writes a document to its file. Returns what to print: the document, or where it is now. */
export async function outputDocument(
  { out, qr }: OutputOptions,
  text: string,
  what: string,
): Promise<TextPart[]> {
  const codes = qr ? formatQrCodes(text, what) : [];
  if (out === null) return [{ document: text }, ...codes];
  refuseToOverwrite(out);
  await writeOutputText(out, `${text}\n`);
  return [`${what} is written to ${out}`, ...codes];
}

export const formatQrCodes = (text: string, what: string): TextPart[] =>
  splitIntoFrames(text).flatMap((frame, index, frames): TextPart[] => [
    `\n${what}, code ${index + 1} of ${frames.length}`,
    { raw: renderQrForTerminal(frame) },
  ]);

/** Checks --out before anything is recorded that only this file will contain. */
export function checkOutputPath(
  { out, json }: { readonly out: string | null; readonly json: boolean },
  kind: DocumentKind | null = null,
): void {
  if (out === null) return;
  if (json) {
    throw new Misuse(
      "--out and --json cannot be combined",
      "the JSON output contains the content of the file",
    );
  }
  refuseToOverwrite(out, kind);
  accessSync(dirname(out), constants.W_OK);
}

/** Only an earlier document may be replaced, never a key, a ledger or any other file. */
function refuseToOverwrite(path: string, kind: DocumentKind | null = null): void {
  refuseSpecialFile(path);
  const bytes = realDisk.read(path);
  if (bytes === null || bytes.length === 0) return;
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_BYTES)).trim();
  const existingKind = kind === null ? null : findMismatchedKind(text, kind);
  if (kind !== null && existingKind !== null) {
    throw new Misuse(
      `${path} is ${DOCUMENT_KIND_NAMES[existingKind]}; it is not overwritten with ${DOCUMENT_KIND_NAMES[kind]}`,
      "choose another --out",
    );
  }
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return;
  throw new Misuse(`${path} already exists and is not a Berth document`, "choose another --out");
}

const MAX_BYTES = 64 * 1024;

/** Reads a file named by an argument or a flag; `-` is standard input. */
export const readInputText = (path: string | undefined | null, what: string): string =>
  new TextDecoder().decode(readInputBytes(path, what));
