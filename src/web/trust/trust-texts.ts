/** The vendors whose licenses are accepted. */
export const trust = {
  about: "Only licenses of these vendors are accepted.",
  none: "No vendor is trusted yet. The vendor’s trust file (trust.jwt) came with the software, or the vendor sends it.",
  fileDescription: "the vendor’s trust file",
  name: "Vendor",
  products: "Products",
  noProducts: "none",
  fingerprint: "Fingerprint of the root",
  retired: "Retired key",
  file: "Trust file",
  version: (version: number, id: string) => `version ${version}, vendor ID ${id}`,
  add: "Add a vendor",
  addText: "Compare its fingerprint before you trust it.",
  accepted: (name: string) => `Licenses of ${name} are now accepted.`,
  remove: {
    act: "Remove",
    label: (name: string) => `Remove the vendor ${name}`,
    title: (name: string) => `Stop trusting ${name}?`,
    text: "New licenses of this vendor will be refused.",
  },
  commands: ["berth trust list", "berth trust add trust.jwt", "berth trust remove ID"],
} as const;

/** The fingerprint comparison before a vendor is trusted. */
export const trustPrompt = {
  title: "Trust this vendor?",
  text: "Call the vendor at a number you know, not one that came with the file, and ask for the fingerprint. Trust the vendor only if every symbol is the same.",
  accept: "Fingerprint matches: trust this vendor",
  command: "berth trust add trust.jwt",
} as const;
