import type { DocumentKind } from "../../license/documents/document-kinds.ts";
import { documentKindOf, normalizeDocument } from "./documents.ts";

/** What a dropped file is, as far as its content tells. Only the server verifies it. */
export type DroppedFile =
  | { readonly kind: DocumentKind | "qr" | "text"; readonly text: string }
  | { readonly kind: "backup" | "desk-backup" | "key" | "other" | "too-large" | "folder" };

export type DroppedKind = DroppedFile["kind"];

/** Larger than any document of a vendor. */
const MAX_BYTES = 128 * 1024;
const TAR_MAGIC = { offset: 257, text: "ustar" };

/** The one place that recognizes a file by its content. Its name means nothing. */
export async function recognizeFile(file: Blob): Promise<DroppedFile> {
  let head: Uint8Array;
  try {
    head = new Uint8Array(await file.slice(0, 512).arrayBuffer());
  } catch {
    // A folder cannot be read.
    return { kind: "folder" };
  }
  if (isTar(head)) return { kind: "backup" };
  if (file.size > MAX_BYTES) {
    const start = new TextDecoder().decode(head);
    return { kind: isDeskBackup(start) ? "desk-backup" : "too-large" };
  }
  return recognizeText(await file.text());
}

export function recognizeText(text: string): DroppedFile {
  const document = normalizeDocument(text);
  const kind = documentKindOf(document);
  if (kind !== null) return { kind, text: document };
  if (/^\s*BERTH\d/m.test(text)) return { kind: "qr", text };
  if (isDeskBackup(text)) return { kind: "desk-backup" };
  if (/"kty"\s*:\s*"OKP"/.test(text)) return { kind: "key" };
  // A document that a mail program changed is still a text without control characters.
  return /^[\t\n\r\u0020-\u007e]+$/.test(text) ? { kind: "text", text } : { kind: "other" };
}

const isDeskBackup = (text: string): boolean => text.includes('"berth-desk-backup"');

const isTar = (head: Uint8Array): boolean =>
  new TextDecoder().decode(
    head.subarray(TAR_MAGIC.offset, TAR_MAGIC.offset + TAR_MAGIC.text.length),
  ) === TAR_MAGIC.text;
