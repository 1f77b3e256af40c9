/** The kinds of signed documents. The kind is in the signed header: none passes for another. */
export const DOCUMENT_KINDS = [
  "trust",
  "request",
  "license",
  "policy",
  "lease",
  "receipt",
  "time",
  "usage",
  "ack",
  "key",
  "key-request",
] as const;

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** What the vendor's issuing key signs: the header has the certificate of that key. */
export type CertifiedKind = Extract<DocumentKind, "license" | "policy" | "time" | "ack">;

const CERTIFIED_KINDS: ReadonlySet<DocumentKind> = new Set<CertifiedKind>([
  "license",
  "policy",
  "time",
  "ack",
]);

export const isCertified = (kind: DocumentKind): kind is CertifiedKind => CERTIFIED_KINDS.has(kind);

/** The name of each kind of document. */
export const DOCUMENT_KIND_NAMES: Readonly<Record<DocumentKind, string>> = {
  trust: "a trust document",
  request: "a license request",
  license: "a license",
  policy: "a policy",
  lease: "a lease",
  receipt: "a receipt",
  time: "a time document",
  usage: "a usage statement",
  ack: "an acknowledgement",
  key: "the certificate of an issuing key",
  "key-request": "a request for the certificate of a key",
};

/** What to do with a document of each kind. */
const USE_OF_KIND: Readonly<Record<DocumentKind, string>> = {
  trust: "add it with berth trust add",
  request: "send it to the vendor, who answers it with berth vendor issue",
  license: "install it with berth license add",
  policy: "install it with berth airgap add and the vendor's confirmation code",
  lease: "it is for the application that requested it and cannot be installed",
  receipt: "send it to the vendor, who records it with berth vendor receive",
  time: "use it with berth clock repair",
  usage: "send it to the vendor, who records it with berth vendor receive",
  ack: "use it with berth usage acknowledge",
  key: "the vendor accepts it with berth vendor accept; documents contain it",
  "key-request": "the vendor certifies it with berth vendor key certify",
};

/** Completes the sentence "it is …" or "the file is …". */
export const describeDocumentKind = (kind: DocumentKind): string =>
  `${DOCUMENT_KIND_NAMES[kind]}: ${USE_OF_KIND[kind]}`;
