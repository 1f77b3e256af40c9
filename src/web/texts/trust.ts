/** Of whose licenses are accepted. */
export const trust = {
  about: "Licenses of these vendors are accepted here, and of nobody else.",
  none: "No vendor is trusted yet. The vendor’s trust file (trust.jwt) came with the software, or the vendor sends it.",
  fileDescription: "the vendor’s trust file",
  name: "Vendor",
  products: "Products",
  noProducts: "none",
  fingerprint: "Fingerprint",
  retired: "Retired key",
  retiredKey: (key: string, from: string | null) =>
    from === null ? `${key}, at once` : `${key}, from ${from.slice(0, 10)}`,
  file: "Trust file",
  version: (version: number, id: string) => `version ${version}, of ${id}`,
  add: "Add a vendor",
  addText: "Nothing is accepted before you have compared its fingerprint.",
  accepted: (name: string) => `Licenses of ${name} are accepted from now on.`,
  remove: {
    act: "Remove",
    label: (name: string) => `Remove the vendor ${name}`,
    title: (name: string) => `No longer trust ${name}?`,
    text: "New licenses of this vendor are refused from then on.",
  },
  commands: ["berth trust list", "berth trust add trust.jwt", "berth trust remove ID"],
} as const;

/** Before a vendor is trusted. */
export const trustPrompt = {
  title: "Trust this vendor?",
  text: "Call the vendor at a number you know, not one that came with the file, and have the fingerprint read out. Accept it only if every symbol is the same.",
  alreadyTrusted: "This vendor is trusted already; this file brings what is new.",
  accept: "It is the same: accept this vendor",
  command: "berth trust add trust.jwt",
} as const;
