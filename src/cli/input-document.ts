import { readDocumentHeader, type DocumentKind } from "../license/document.ts";
import { describeDocumentKind, DOCUMENT_KIND_NAMES } from "../license/document-kinds.ts";
import { normalizePolicyText } from "../license/policy.ts";
import { Failure } from "./command.ts";
import { emptyFileError, describeInput, readInputBytes, tooLargeError } from "./input-file.ts";

const COPY_AGAIN = "copy the complete text again from the original, from eyJ to the last character";

/**
 * The text of a signed document in a file, or on standard input with `-`. Whatever can be told of a
 * wrong file is told here, by its name, before anybody else is asked. `kind` null: any kind.
 */
export function readDocument(path: string | undefined | null, kind: DocumentKind | null): string {
  const wanted = kind === null ? "a Berth document" : DOCUMENT_KIND_NAMES[kind];
  const bytes = readInputBytes(path, wanted);
  const file = path ?? "";
  const name = describeInput(file);
  const content = decodeUtf8(bytes);
  if (content === null) {
    throw isArchive(bytes)
      ? new Failure(
          `${name} is not ${wanted}: it is an archive`,
          "restore a backup with berth restore",
        )
      : new Failure(`${name} is not ${wanted}: it contains binary data`, "check the file name");
  }
  const text = kind === "policy" ? normalizePolicyText(content) : joinWrappedLines(content.trim());
  if (text === "") throw emptyFileError(file);
  const header = readDocumentHeader(text);
  if (!header.ok) {
    if (isPrivateKey(text)) {
      const hint = `a private key must not leave the vendor's desk; ask the vendor for ${wanted}`;
      throw new Failure(`${name} is not ${wanted}: it is a private key`, hint);
    }
    if (header.fault === "is too large") throw tooLargeError(file, wanted);
    throw new Failure(`${name} is not ${wanted}`, COPY_AGAIN);
  }
  if (kind !== null && header.value.kind !== kind) {
    throw new Failure(
      `${name} is ${describeDocumentKind(header.value.kind)}`,
      `it should be ${wanted}`,
    );
  }
  return text;
}

/** Mail wraps long lines: no part of a signed document holds white space. */
function joinWrappedLines(text: string): string {
  const joined = text.replaceAll(/\s+/g, "");
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(joined) ? joined : text;
}

/** A JWK with its private member. */
function isPrivateKey(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "kty" in value && "d" in value;
  } catch {
    return false;
  }
}

/** Null: it is no text. */
function decodeUtf8(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const MAGIC = "ustar";
const MAGIC_AT = 257;

/** Whether it begins like a tar file, which every backup is. */
export const isArchive = (bytes: Uint8Array): boolean =>
  new TextDecoder("latin1").decode(bytes.subarray(MAGIC_AT, MAGIC_AT + MAGIC.length)) === MAGIC;
