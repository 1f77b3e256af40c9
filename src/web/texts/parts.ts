/** Of parts that several views share. */
export const fileDrop = {
  drop: (what: string) => `Drop ${what} here`,
  dropNow: "Let go to take it in",
  choose: "Choose a file",
  chooseLabel: (what: string) => `Choose a file: ${what}`,
  paste: "Or paste its text",
  scan: "A scanner may type here what it reads of QR codes, a code a line.",
  textLabel: (what: string) => `Text of ${what}`,
  submitText: "Take this text",
  tooLarge: "This file is far too large to be from a vendor of licenses.",
  onlyOne: "One file at a time, please.",
} as const;

export const documentTransfer = {
  showQr: "Show as QR code",
  hideQr: "Hide the QR code",
  text: "Show the text",
} as const;

export const qrCodes = {
  alt: (index: number, all: number) => (all === 1 ? "QR code" : `QR code ${index} of ${all}`),
  frame: (index: number, all: number) => `frame ${index} of ${all}`,
  one: "Any phone’s camera reads it.",
  several: "Photograph every frame; their order does not matter.",
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

export const oneTimeSecret = { saved: "I have kept it" } as const;
