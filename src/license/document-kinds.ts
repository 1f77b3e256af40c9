import { readDocumentHeader, type DocumentKind } from "./document.ts";

/** What a document of each kind is called, and where it is taken. */
export const DOCUMENT_KIND_NAMES: Readonly<Record<DocumentKind, string>> = {
  trust: "a trust document",
  request: "a license request",
  license: "a license",
  policy: "a policy",
  lease: "a lease",
  receipt: "a receipt",
  time: "a time document",
};

const TAKEN_BY: Readonly<Record<DocumentKind, string>> = {
  trust: "add it with berth trust add",
  request: "send it to the vendor, who answers it with berth vendor issue",
  license: "install it with berth license add",
  policy: "install it with berth airgap add and the vendor's confirmation code",
  lease: "it is for the application that requested it and cannot be installed",
  receipt: "send it to the vendor, who records it with berth vendor receive",
  time: "use it with berth clock repair",
};

/** Finishes "it is …" or "the file is …". */
export const describeDocumentKind = (kind: DocumentKind): string =>
  `${DOCUMENT_KIND_NAMES[kind]}: ${TAKEN_BY[kind]}`;

/** What a document is if it is not of the wanted kind, by its own word; else null. */
export function findMismatchedKind(text: string, wanted: DocumentKind): DocumentKind | null {
  const header = readDocumentHeader(text);
  return header.ok && header.value.kind !== wanted ? header.value.kind : null;
}
