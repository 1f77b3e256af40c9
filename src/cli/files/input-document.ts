import { readDocumentHeader } from "../../license/documents/document.ts";
import {
  describeDocumentKind,
  DOCUMENT_KIND_NAMES,
  type DocumentKind,
} from "../../license/documents/document-kinds.ts";
import { normalizePolicyText } from "../../license/terms/policy.ts";
import { Failure } from "../frame/command.ts";
import { emptyFileError, describeInput, readInputBytes, tooLargeError } from "./input-file.ts";

const COPY_AGAIN = "copy the complete text again from the original, from eyJ to the last character";

/**
 * Reads a signed document from a file, or from standard input with `-`. A wrong file is refused
 * here, with its name, before the server or the desk is involved. `kind` null: any kind.
 */
export function readDocument(
  path: string | undefined | null,
  kind: DocumentKind | readonly DocumentKind[] | null,
): string {
  const kinds: readonly DocumentKind[] = typeof kind === "string" ? [kind] : (kind ?? []);
  const names = kinds.map((accepted) => DOCUMENT_KIND_NAMES[accepted]);
  const expected = kind === null ? "a Berth document" : names.join(" or ");
  const bytes = readInputBytes(path, expected);
  const file = path ?? "";
  const name = describeInput(file);
  const content = decodeUtf8(bytes);
  if (content === null) {
    throw isArchive(bytes)
      ? new Failure(
          `${name} is not ${expected}: it is an archive`,
          "restore a backup with berth restore",
        )
      : new Failure(`${name} is not ${expected}: it contains binary data`, "check the file name");
  }
  const text = kind === "policy" ? normalizePolicyText(content) : joinWrappedLines(content.trim());
  if (text === "") throw emptyFileError(file);
  const header = readDocumentHeader(text);
  if (!header.ok) {
    if (isPrivateKey(text)) {
      const hint = `a private key must not leave the vendor's desk; ask the vendor for ${expected}`;
      throw new Failure(`${name} is not ${expected}: it is a private key`, hint);
    }
    if (header.fault.wrong === "size") throw tooLargeError(file, expected);
    throw new Failure(`${name} is not ${expected}`, COPY_AGAIN);
  }
  if (kind !== null && !kinds.includes(header.value.kind)) {
    throw new Failure(
      `${name} is ${describeDocumentKind(header.value.kind)}`,
      `it should be ${expected}`,
    );
  }
  return text;
}

/** Joins the lines that a mail program wrapped: a signed document contains no white space. */
function joinWrappedLines(text: string): string {
  const joined = text.replaceAll(/\s+/g, "");
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(joined) ? joined : text;
}

/** Whether the text is a JWK with its private member. */
function isPrivateKey(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "kty" in value && "d" in value;
  } catch {
    return false;
  }
}

/** Null: the bytes are not text. */
function decodeUtf8(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const TAR_MAGIC = "ustar";
const TAR_MAGIC_OFFSET = 257;

/** Whether the bytes begin like a tar file; every backup is one. */
export const isArchive = (bytes: Uint8Array): boolean =>
  new TextDecoder("latin1").decode(
    bytes.subarray(TAR_MAGIC_OFFSET, TAR_MAGIC_OFFSET + TAR_MAGIC.length),
  ) === TAR_MAGIC;
