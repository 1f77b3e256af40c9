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
    "trust" | "request" | "license" | "policy" | "receipt" | "time" | "usage" | "ack";
}

interface RetiredKeyFault {
  readonly wrong: "retired_key";
}

/** Why a document was not accepted as one of a trusted vendor. */
export type VendorDocumentFault =
  | DocumentFault
  | ContentFault
  | RetiredKeyFault
  /** No trusted vendor has the key that signed it. */
  | { readonly wrong: "signer" };

export type TrustFault =
  | DocumentFault
  | ContentFault
  | RetiredKeyFault
  /** The installed document of the vendor has the same version or a newer one. */
  | { readonly wrong: "outdated" }
  /** It continues the documents of a vendor that is not trusted. */
  | { readonly wrong: "unknown_vendor" }
  /** A document between the installed one and this one is missing: the one of version `next`. */
  | { readonly wrong: "skipped_version"; readonly next: number };

export type LicenseRequestFault =
  | DocumentFault
  | ContentFault
  /** Its parts do not belong together. */
  | { readonly wrong: "contradiction" };

/** Why a file from the vendor is not accepted here. */
export type VendorFileFault =
  | VendorDocumentFault
  | TrustFault
  /** It does not have the key that signed a license which is installed. */
  | { readonly wrong: "dropped_key"; readonly license: number }
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
};

/** Faults without facts. */
const SENTENCES = {
  size: "is too large",
  form: "is not a signed document",
  signature: "has an invalid signature",
  retired_key: "is signed with a key that its vendor retired",
  signer: "is not signed by a trusted vendor",
  outdated: "is older than the installed one",
  unknown_vendor:
    "is a successor document of a vendor that is not trusted here: add its trust.jwt first",
  contradiction: "contradicts itself",
  other_vendor: "is not from the vendor of every license",
  other_code: "answers another code",
};

/** Completes the sentence "the file …". */
export function describeDocumentFault(fault: AnyDocumentFault): string {
  if (fault.wrong === "kind") return `is ${describeDocumentKind(fault.kind)}`;
  if (fault.wrong === "content") return `is not ${CONTENT_NAMES[fault.expected]}`;
  if (fault.wrong === "skipped_version") {
    return `is signed by a key that is not known here: add successor-${fault.next}.jwt first`;
  }
  if (fault.wrong === "dropped_key") {
    return `leaves out the key that license ${fault.license} is signed with; install that license signed with another key first`;
  }
  return SENTENCES[fault.wrong];
}
