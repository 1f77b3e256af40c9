import type { FaultCode } from "../../faults/fault-types.ts";
import type { DocumentKind } from "../../license/documents/document-kinds.ts";

/** Installing files from the vendor, and the outcome. */
export const addLicense = {
  title: "Add a license",
  text: "Drop the vendor’s file anywhere on this page, or choose it. A vendor’s trust file works here too.",
  fileDescription: "the vendor’s file",
  command: "license add license.jwt",
  installed: (product: string) => `${product} is installed`,
  installedText: (slots: string, validity: string) => `${slots}, ${validity}.`,
  renewed: (product: string) => `${product} is renewed`,
  unchanged: "Its terms are the same as before.",
  same: (product: string) => `${product} is already installed`,
  sameText: "This is the installed license: nothing was changed.",
  expiredText: "This license has expired and grants no slots. Request a renewal from the vendor.",
  viewLicense: "View the license",
  doneTitle: "License installed",
  done: "Done",
  refused: "Not accepted",
  nextStep: "What to do",
  requestLicense: "Request a license",
  retriedOnTrust: "Once that vendor is trusted, the installation is retried automatically.",
} as const;

export const changes = {
  slots: "Slots",
  hosts: "Hosts",
  validity: "Valid",
  borrow: "Borrowing",
  consumption: "Consumption",
  feature: (code: string) => `Feature ${code}`,
  change: (term: string, from: string, to: string) => `${term}: ${from} → ${to}`,
  featureAdded: (code: string) => `Feature ${code}: added`,
  featureRemoved: (code: string) => `Feature ${code}: removed`,
} as const;

/** What to do after each refusal of a vendor's file, by error code. */
export const remedies: Readonly<Record<string, string>> = {
  untrusted_vendor:
    "If the vendor is not trusted here yet, or not for this product, drop the vendor’s trust file here (trust.jwt; it came with the software, or the vendor sends it).",
  hardware_mismatch:
    "It was issued for another machine, or for other hosts than this pair has. Create a new request here and send it to the vendor.",
  request_unknown:
    "It answers a request that this server does not have: it is for another server, or the request was made before a restore. Create a new request here and send it to the vendor.",
  request_used:
    "Its request has already been answered by another license. Create a new request and send it to the vendor.",
  stale_license:
    "A newer license is installed, or this one was returned. If the vendor sent several files, install the newest; otherwise request a renewal.",
  trust_outdated:
    "The vendor signed it with a newer key. Add the vendor’s newest trust file (trust.jwt) first, then this file again.",
  retired_key:
    "The vendor has retired the key that signed it. Ask the vendor for the file signed with its new key. If the vendor did not send it, tell the vendor.",
  key_ended:
    "The key that signed it had ended by the time of this server. Ask the vendor for a new file. If the time is wrong, correct the clock under “Settings”, “Clock”.",
  root_changed:
    "Another root key is known here for this vendor. Call the vendor at a number you know.",
  invalid_license_file:
    "The file is damaged or not what the vendor sent. Copy it again from the vendor’s original. If you paste it as text, include everything from “eyJ” to the last character.",
} satisfies Partial<Record<FaultCode, string>>;

/** Where a document belongs that cannot be installed as a license. */
export const wrongDocument: Readonly<Record<Exclude<DocumentKind, "trust" | "license">, string>> = {
  request: "This is a license request: send it to the vendor, who answers with a license.",
  policy: "This is a vendor’s policy: it is confirmed by codes. Use “Activate by phone”.",
  lease: "This is a lease for an application: it cannot be installed.",
  receipt: "This is the receipt of a returned license: send it to the vendor.",
  time: "This is a vendor’s time document: use it under “Settings”, “Clock”.",
  usage: "This is a usage statement: send it to the vendor.",
  ack: "This is a vendor’s answer to a usage statement: drop it anywhere on this page.",
  key: "This is a certificate of the vendor: it belongs to the vendor’s desk.",
  "key-request": "This is a request of the vendor’s desk: it belongs to the vendor’s root.",
};
