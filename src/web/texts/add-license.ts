import type { DocumentKind } from "../../license/document.ts";

/** Of files from the vendor, and what came of them. */
export const addLicense = {
  title: "Add a license",
  text: "Drop the vendor’s file anywhere on this page, or choose it. A vendor’s trust file is recognised too.",
  fileDescription: "the vendor’s file",
  command: "berth license add license.jwt",
  installed: (product: string) => `${product} is installed`,
  installedText: (slots: string, validity: string) => `${slots}, ${validity}.`,
  renewed: (product: string) => `${product} is renewed`,
  unchanged: "Its terms are the same as before.",
  same: (product: string) => `${product} was installed already`,
  sameText: "It is the license that is here: nothing was changed.",
  expiredText: "It has ended: nothing will be granted on it. Ask the vendor for a renewal.",
  viewLicense: "Look at it",
  refused: "It was not accepted",
  nextStep: "What to do",
  requestLicense: "Ask the vendor",
  retriedOnTrust: "Once that vendor is trusted, this license is tried again by itself.",
} as const;

export const changes = {
  slots: "Slots",
  validity: "Valid",
  borrow: "Borrowing",
  consumption: "Consumption",
  feature: (code: string) => `Feature ${code}`,
  change: (what: string, from: string, to: string) => `${what}: ${from} → ${to}`,
  featureAdded: (code: string) => `Feature ${code} is new`,
  featureRemoved: (code: string) => `Feature ${code} is gone`,
} as const;

/** What helps after each refusal of a vendor's file. */
export const remedies: Readonly<Record<string, string>> = {
  untrusted_vendor:
    "No vendor trusted here signed it, or not for this product. Drop the vendor’s trust file here (trust.jwt; it came with the software, or ask for it).",
  hardware_mismatch:
    "It was made for another machine. Make a new request here and send that to the vendor.",
  request_unknown:
    "It answers no request of this server: perhaps of another one, or one made before a restore. Make a new request here and send that to the vendor.",
  request_used:
    "That request was answered by another license already. Make a new request and send that to the vendor.",
  stale_license:
    "A newer license is installed, or this one was given back. If the vendor sent several files, take the newest; else ask for a renewal.",
  invalid_license_file:
    "The file is damaged or not what the vendor sent. Copy it again, from the vendor’s original; as text, take all of it, from “eyJ” to the last character.",
};

/** What one of our documents is for, where it is not wanted here. */
export const misplaced: Readonly<Record<Exclude<DocumentKind, "trust" | "license">, string>> = {
  request: "This is a request made on a site: it goes to the vendor, who answers with a license.",
  policy: "This is a vendor’s policy: it is confirmed by codes. Begin with “License by codes”.",
  lease: "This is a lease that an application was given: nothing to install.",
  receipt: "This is the receipt of a license given back: it goes to the vendor.",
  time: "This is a vendor’s word on the time: it is wanted under “Settings”, “Clock”.",
};
