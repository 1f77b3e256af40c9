import { readHeader, type Kind } from "./document.ts";

/** What a document of each kind is called, and where it is taken. */
export const KIND_NAMES: Readonly<Record<Kind, string>> = {
  trust: "a trust document",
  request: "a license request",
  license: "a license",
  policy: "a policy",
  lease: "a lease",
  receipt: "a receipt",
  time: "a time document",
};

const TAKEN_BY: Readonly<Record<Kind, string>> = {
  trust: "berth trust add takes it",
  request: "it goes to the vendor, where berth vendor issue takes it",
  license: "berth license add takes it",
  policy: "berth airgap add takes it, with the vendor's confirmation code",
  lease: "it is for the application that asked for it, and nothing to install",
  receipt: "it goes to the vendor, where berth vendor receive takes it",
  time: "berth clock repair takes it",
};

/** Finishes "it is …" or "the file is …". */
export const describeKind = (kind: Kind): string => `${KIND_NAMES[kind]}: ${TAKEN_BY[kind]}`;

/** What a document is if it is not of the wanted kind, by its own word; else null. */
export function otherKind(text: string, wanted: Kind): Kind | null {
  const header = readHeader(text);
  return header.ok && header.value.kind !== wanted ? header.value.kind : null;
}
