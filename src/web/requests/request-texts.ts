/** The wizard that requests a license from a vendor and installs it. */
export const requestWizard = {
  title: "Request a license",
  intro:
    "Create a request, send it to the vendor, and install the file that comes back. You can close this page in the meantime.",
  steps: ["Vendor", "Product", "Request", "Send", "Install"],
  airGap: "No file may leave this site?",
  airGapLink: "Activate by phone",
} as const;

export const vendorStep = {
  text: "Licenses are accepted only from vendors that you trust.",
  trusted: "Trusted vendors",
  addVendor: "Trust another vendor",
  next: "Continue",
} as const;

export const productStep = {
  text: "Which product is it for?",
  product: "Product code",
  productHint: "Exactly as the vendor writes it. If empty, the vendor decides.",
  key: "License key (optional)",
  keyHint: "If the vendor gave you one, for example with the order.",
  renews: (product: string) =>
    `A license for ${product} is installed: the answer renews it, and users keep their slots.`,
  hosts: "Hosts",
  hostsHint: "A license of one host serves only while that host leads.",
  bothHosts: (names: readonly string[]) => `Both: ${names.join(" and ")}`,
  leadingHost: (name: string) => `Only ${name}, which leads now`,
  wants: "What do you need? (optional)",
  wantsHint: "The vendor sees this in the request and decides.",
  slots: "Slots",
  until: "Until",
  note: "Note for the vendor",
  noteHint: (length: number, max: number) => `${length} of ${max} characters`,
  createRequest: "Create the request",
} as const;

export const requestStep = {
  text: "This request is for the vendor. It identifies this server and its hardware and contains no secrets.",
  facts: { product: "Product", key: "License key", hosts: "Hosts", createdAt: "Created" },
  anyProduct: "chosen by the vendor",
  cloud: "For a licensing cloud",
  cloudText:
    "Cloud keys are set, so the same request is shown in the format of the licensing cloud. The cloud’s answer cannot be installed here.",
  next: "Continue",
} as const;

export const sendStep = {
  text: "Send the request to the vendor by any means that may leave this site: mail from another machine, a USB stick, a photograph of the QR code.",
  vendor: "The vendor answers it with a command like this:",
  byQr: "If you send QR codes",
  scanned: "The vendor first turns the scanned QR codes, one per line, back into a file:",
  scannedCommand: "berth qr join scanned.txt --out request.jwt",
  weakBinding:
    "This machine has few hardware identifiers, as in a virtual machine or a container. The vendor has to allow this with --allow-weak-binding.",
  bringAnswerBack: "The answer is a small text file. Bring it back the same way.",
  resumeLater:
    "You can close this page. The request stays valid for 400 days, and you can drop the answer on the Licenses page at any time.",
  next: "Install the license",
} as const;

export const answerStep = {
  text: "Drop the vendor’s answer here to install the license.",
  fileDescription: "the vendor’s answer",
  resumeLater: "Not received yet? Drop it on the Licenses page later.",
} as const;
