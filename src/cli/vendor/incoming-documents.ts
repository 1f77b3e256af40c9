import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { compareTexts } from "../../domain/text/compare-texts.ts";
import type { Incoming } from "../../desk/answering/answer-documents.ts";
import { readDocumentHeader } from "../../license/documents/document.ts";
import type { DocumentKind } from "../../license/documents/document-kinds.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { Failure } from "../frame/command.ts";

/** Larger than any document of a site. */
const MAX_BYTES = 128 * 1024;

/** What sites send to their vendor. */
const KINDS: ReadonlySet<DocumentKind> = new Set(["request", "receipt", "usage"]);

export interface FoundDocuments {
  readonly incoming: readonly Incoming[];
  /** Other files, links and folders, which are left alone. */
  readonly ignored: number;
  /** Files that this account may not read. */
  readonly unreadable: readonly string[];
}

/** The documents of sites in a folder, and in the folder of this vendor on an exchange medium. */
export function findIncoming(folder: string, vendor: string): FoundDocuments {
  if (!isFolder(folder))
    throw new Failure(`${folder} is not a folder`, "specify the folder with the sites' documents");
  const medium = join(folder, "berth");
  const exchange = join(medium, vendor);
  // A link in a folder from elsewhere could lead anywhere, and answers are written beside.
  const folders = isFolder(medium) && isFolder(exchange) ? [folder, exchange] : [folder];
  const paths = folders.flatMap((path) => readdirSync(path).map((name) => join(path, name)));
  const unreadable: string[] = [];
  const incoming = paths.flatMap((path) => {
    try {
      const text = readDocumentText(path);
      return text === null ? [] : [{ name: path, text }];
    } catch (error) {
      if (errorCode(error) === null) throw error;
      unreadable.push(path);
      return [];
    }
  });
  return {
    incoming: incoming.toSorted((a, b) => compareTexts(a.name, b.name)),
    ignored: paths.length - incoming.length - unreadable.length,
    unreadable,
  };
}

const isFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Null: it is no document of a site. */
function readDocumentText(path: string): string | null {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry?.isFile() !== true || entry.size > MAX_BYTES) return null;
  const bytes = realDisk.read(path);
  // A mail program may have wrapped the lines.
  const text = new TextDecoder().decode(bytes ?? new Uint8Array()).replaceAll(/\s+/g, "");
  const header = readDocumentHeader(text);
  return header.ok && KINDS.has(header.value.kind) ? text : null;
}
