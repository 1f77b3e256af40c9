import { describeDocumentKind, type DocumentKind } from "./document-kinds.ts";

/** Why a text is not a signed document of the expected kind. */
export type DocumentFault =
  | { readonly wrong: "size" }
  /** Not a signed document at all. */
  | { readonly wrong: "form" }
  /** A document of another kind than the expected one. */
  | { readonly wrong: "kind"; readonly kind: DocumentKind }
  | { readonly wrong: "signature" };

/** The signature is valid, but the content is not what a document of the kind has to contain. */
export interface ContentFault {
  readonly wrong: "content";
  readonly expected:
    | "trust"
    | "request"
    | "license"
    | "policy"
    | "receipt"
    | "time"
    | "usage"
    | "ack"
    | "key-request";
}

/** Why a document was not accepted as one of a trusted vendor. */
export type VendorDocumentFault =
  | DocumentFault
  | ContentFault
  /** The certificate in it is not one of its vendor's root for the key that signed it. */
  | { readonly wrong: "certificate" }
  /** No trusted vendor is named by its certificate. */
  | { readonly wrong: "signer" };

export type TrustFault = DocumentFault | ContentFault;

export type LicenseRequestFault =
  | DocumentFault
  | ContentFault
  /** Its parts do not belong together. */
  | { readonly wrong: "contradiction" };

/** Why a file from the vendor is not accepted here. */
export type VendorFileFault =
  | VendorDocumentFault
  | TrustFault
  /** A time document that is not from the vendor of all licenses that depend on the time. */
  | { readonly wrong: "other_vendor" }
  /** A time document for another time code. */
  | { readonly wrong: "other_code" };

type AnyDocumentFault = VendorFileFault | LicenseRequestFault;

const CONTENT_NAMES: Readonly<Record<ContentFault["expected"], string>> = {
  trust: "a vendor's trust document",
  request: "a request",
  license: "a license",
  policy: "a policy",
  receipt: "a receipt",
  time: "a time document",
  usage: "a usage statement",
  ack: "an acknowledgement",
  "key-request": "a request for a certificate",
};

/** Faults without facts. */
const SENTENCES = {
  size: "is too large",
  form: "is not a signed document",
  signature: "has an invalid signature",
  certificate: "has no valid certificate of its vendor's root for the key that signed it",
  signer: "is not signed by a trusted vendor",
  contradiction: "contradicts itself",
  other_vendor: "is not from the vendor of every license",
  other_code: "answers another code",
};

/** Completes the sentence "the file …". */
export function describeDocumentFault(fault: AnyDocumentFault): string {
  if (fault.wrong === "kind") return `is ${describeDocumentKind(fault.kind)}`;
  if (fault.wrong === "content") return `is not ${CONTENT_NAMES[fault.expected]}`;
  return SENTENCES[fault.wrong];
}
