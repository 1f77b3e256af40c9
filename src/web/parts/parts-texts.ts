/** Components that several views share. */
export const fileDrop = {
  drop: (what: string) => `Drop ${what} here`,
  dropNow: "Drop the file here",
  choose: "Choose a file",
  chooseLabel: (what: string) => `Choose a file: ${what}`,
  paste: "Or paste its text",
  scan: "A scanner can type QR codes here, one per line.",
  textLabel: (what: string) => `Text of ${what}`,
  submitText: "Use this text",
  tooLarge: "This file is too large to be a license document.",
  onlyOne: "Drop one file at a time.",
} as const;

export const documentTransfer = {
  showQr: "Show as QR code",
  hideQr: "Hide the QR code",
  text: "Show the text",
} as const;

export const qrCodes = {
  alt: (index: number, all: number) => (all === 1 ? "QR code" : `QR code ${index} of ${all}`),
  frame: (index: number, all: number) => `frame ${index} of ${all}`,
  one: "Scan it with any phone camera.",
  several: "Photograph every frame, in any order.",
  previous: "Previous",
  next: "Next",
  play: "Play",
  pause: "Pause",
} as const;

export const wizard = {
  label: "Steps",
  heading: (index: number, all: number, title: string) => `Step ${index} of ${all}: ${title}`,
  back: "Back",
} as const;

export const oneTimeSecret = { saved: "I have saved it" } as const;

export const times = { zone: (name: string) => `Times: ${name}` } as const;

export const printed = (when: string, zone: string): string => `Printed ${when}, ${zone}`;

export const dataTable = {
  actions: "Actions",
  none: "–",
  omitted: (shown: string, omitted: string) =>
    `The newest ${shown} rows; ${omitted} more are left out. Choose a shorter period to see them.`,
  showAll: (count: string) => `Show all ${count} rows`,
  save: "Save as CSV",
  saveLabel: (name: string) => `Save as CSV: ${name}`,
} as const;
