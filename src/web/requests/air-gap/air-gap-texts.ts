import type { FaultCode } from "../../../faults/fault-types.ts";

/** The wizard that activates a license by codes, for sites that no file may leave. */
export const airGap = {
  title: "Activate by phone",
  intro:
    "You read an activation code to the vendor, and the vendor reads a confirmation code back. The terms come in a file, the policy, with the install medium.",
  steps: ["Vendor", "License key", "Activation code", "Policy", "Confirmation code"],
  restart: "Start over",
} as const;

export const keyStep = {
  text: "The vendor gave you a license key, for example with the order.",
  key: "License key",
  keyHint: "Exactly as the vendor wrote it.",
  withInitialization: "The vendor also gave an initialization code",
  initialization: "Initialization code",
  createActivation: "Create the activation code",
  skipToConfirmation: "I already have a confirmation code",
} as const;

export const activationStep = {
  text: "Read this code out to the vendor, row by row.",
  until: (end: string) => `The vendor can confirm it until ${end}.`,
  spell: "Show spelling",
  hideSpelling: "Hide spelling",
  tell: "What to tell the vendor",
  tellKey: (key: string) => `The license key: ${key}`,
  tellCode: "The activation code above, every row.",
  tellInitialization: "That you used their initialization code.",
  command: "The vendor confirms it with a command like this and reads out a code of six rows:",
  resumeLater:
    "The vendor may call back days later. You can close this page and return to it then.",
  next: "I have the confirmation code",
} as const;

export const policyStep = {
  text: "The policy is a file from the vendor, often on the install medium: policy.jwt.",
  fileDescription: "the policy file",
  loaded: (id: string, product: string) => `Policy ${id} for ${product}`,
  loadedUnread: "A policy is loaded; the server checks it when you install the license.",
  notPolicy: "This is not a policy.",
  next: "Continue",
} as const;

export const confirmationStep = {
  text: "Type the code that the vendor reads out. Each row is checked as soon as it is full. Capitals, dashes and spaces do not matter; O counts as 0, I and L as 1.",
  label: "Confirmation code",
  scanner: "A scanner can type the whole code, and a copied code can be pasted into the first row.",
  install: "Install the license",
} as const;

export const codeEntry = {
  row: (row: number) => `Row ${row}`,
  ofRows: (rows: number) => `of ${rows}`,
  correct: "OK",
  wrong: "wrong: ask for this row again",
  long: (more: number) => (more === 1 ? "one symbol too many" : `${more} symbols too many`),
  short: (typed: number, size: number) => `${typed} of ${size}`,
  empty: "empty",
  rowsMissing: (rows: number) =>
    rows === 1 ? "1 row is incomplete." : `${rows} rows are incomplete.`,
  rowsWrong: (rows: readonly number[]) =>
    rows.length === 1
      ? `Row ${rows[0]} is wrong: ask for it again.`
      : `Rows ${rows.join(", ")} are wrong: ask for them again.`,
  complete: "All rows are correct.",
} as const;

export const codeRemedies: Readonly<Record<string, string>> = {
  invalid_confirmation_code:
    "All rows are correct, but the code confirms something else. Check that the license key and the policy are the ones the vendor used, or create a new activation code.",
  untrusted_vendor:
    "This policy is not signed by a vendor trusted here. Add the vendor’s trust file in the first step, then come back.",
  invalid_license_file: "Copy the policy file again from the vendor’s original.",
  stale_license:
    "A newer license for this key is installed, or it was returned. Ask the vendor to confirm a new activation code.",
  request_used: "This code has already been used. Create a new activation code.",
  too_many_requests: "Wait a minute, then try again.",
} satisfies Partial<Record<FaultCode, string>>;
