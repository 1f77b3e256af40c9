/** The walk from "we need a license" to a license. */
export const requestWizard = {
  title: "Ask the vendor",
  intro:
    "A request goes out of the site, the vendor’s answer comes back. Days may lie between: nothing here has to stay open.",
  steps: ["Vendor", "Product", "Request", "Send it", "Answer"],
  restart: "Begin again",
  airGap: "Nothing but a voice may leave this site?",
  airGapLink: "License by codes",
} as const;

export const vendorStep = {
  text: "Licenses are accepted from vendors that somebody here has trusted once.",
  trusted: "Trusted here",
  addVendor: "Trust another vendor",
  next: "Go on",
} as const;

export const productStep = {
  text: "Which product is it for?",
  product: "Product code",
  productHint: "As the vendor writes it, letter by letter. Empty: the vendor decides.",
  key: "License key (optional)",
  keyHint: "If the vendor gave you one, with the order for example.",
  renews: (product: string) =>
    `A license for ${product} is installed: the answer renews it, and who holds a slot keeps it.`,
  createRequest: "Make the request",
} as const;

export const requestStep = {
  text: "This request goes to the vendor. It names this server and its hardware, and holds no secret.",
  facts: { product: "Product", key: "License key", createdAt: "Made" },
  anyProduct: "left to the vendor",
  cloud: "For a licensing cloud",
  cloudText:
    "The cloud keys are set, so here is the same request as the cloud takes it. Its answer cannot be imported here yet.",
  next: "I have it",
} as const;

export const sendStep = {
  text: "Send the request to the vendor by whatever may leave this site: mail from another machine, a USB stick, a photograph of the QR code.",
  vendor: "The vendor answers it with a command like this:",
  byQr: "If it goes by QR codes",
  scanned: "Of QR codes that were scanned, a code a line, the vendor makes the file again first:",
  scannedCommand: "berth qr join scanned.txt --out request.jwt",
  weakBinding:
    "Little of this machine’s hardware can be told, as in a virtual machine or a container: the vendor has to agree to that with --allow-weak-binding.",
  bringAnswerBack:
    "The answer is a small file, a text of some lines if you like. Bring it back the same way.",
  resumeLater:
    "You may close this page: the request stays open for 400 days, and the answer can be dropped under “Licenses” on any day.",
  next: "I have the answer",
} as const;

export const answerStep = {
  text: "Drop the vendor’s answer here; from then on the license serves.",
  fileDescription: "the vendor’s answer",
  resumeLater:
    "Not there yet? Come back any day: this walk is not needed for it, “Licenses” takes it too.",
} as const;
