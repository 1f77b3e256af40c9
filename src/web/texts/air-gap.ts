/** The walk with codes, where nothing but a voice goes out. */
export const airGap = {
  title: "License by codes",
  intro:
    "Two codes are read out, one to the vendor and one back. The terms come in as a file, the policy, with the install medium.",
  steps: ["Vendor", "License key", "Activation code", "Policy", "Confirmation code"],
  restart: "Begin again",
} as const;

export const keyStep = {
  text: "The vendor gave you a license key, with the order for example.",
  key: "License key",
  keyHint: "Letter by letter; the vendor uses the same one.",
  withInitialization: "The vendor gave an initialization code as well",
  initialization: "Initialization code",
  createActivation: "Make the activation code",
  skipToConfirmation: "I have a confirmation code already",
} as const;

export const activationStep = {
  text: "Read this code out to the vendor, row by row.",
  until: (end: string) => `It can be confirmed until ${end}.`,
  spell: "Spell it out",
  hideSpelling: "Only the code",
  tell: "What to tell the vendor",
  tellKey: (key: string) => `The license key: ${key}`,
  tellCode: "The activation code above, every row.",
  tellInitialization: "That you began with their initialization code.",
  command: "The vendor confirms it with a command like this, and reads out a code of six rows:",
  resumeLater:
    "The vendor may call back days later: come back to this page then, nothing has to stay open.",
  next: "I have the confirmation code",
} as const;

export const policyStep = {
  text: "The policy is a file from the vendor, often on the install medium: policy.jwt.",
  fileDescription: "the policy file",
  loaded: (id: string, product: string) => `Policy ${id} for ${product}`,
  loadedUnread: "A policy is there; the server will say whether it is right.",
  notPolicy: "This is no policy.",
  next: "Go on",
} as const;

export const confirmationStep = {
  text: "Type what the vendor reads out. Each row is checked as soon as it is full: capitals, dashes and spaces do not matter, and O is read as 0, I and L as 1.",
  label: "Confirmation code",
  scanner: "A scanner may type all of it, and a copied code can be pasted into the first row.",
  install: "Install the license",
} as const;

export const codeEntry = {
  row: (row: number) => `Row ${row}`,
  ofRows: (rows: number) => `of ${rows}`,
  correct: "right",
  wrong: "wrong: read this row again",
  long: (more: number) => (more === 1 ? "one symbol too many" : `${more} symbols too many`),
  short: (typed: number, size: number) => `${typed} of ${size}`,
  empty: "to come",
  rowsMissing: (rows: number) => (rows === 1 ? "One row is to come." : `${rows} rows are to come.`),
  rowsWrong: (rows: string) => `To be read again: row ${rows}.`,
  complete: "Every row is right.",
} as const;

export const codeRemedies: Readonly<Record<string, string>> = {
  invalid_confirmation_code:
    "Every row is right, but the code confirms something else: check that the license key and the policy are the ones the vendor used, or make a new activation code.",
  outdated_confirmation_code:
    "The vendor’s desk runs an older version of Berth. Ask the vendor to update it and to confirm the same activation code again.",
  untrusted_vendor:
    "No vendor trusted here signed this policy. Take in the vendor’s trust file in the first step, then come back.",
  invalid_license_file: "Copy the policy file again from the vendor’s original.",
  stale_license:
    "A newer license for this key is installed, or it was given back. Ask the vendor to confirm a new activation code.",
  request_used: "This code was used already. Make a new activation code.",
  too_many_requests: "Wait a minute, then try again.",
};
