/** The requests that wait for the vendor's answer. */
export const requests = {
  title: "Open requests",
  text: "These wait for the vendor’s answer. When it arrives, drop the file anywhere on this page.",
  anyProduct: "chosen by the vendor",
  byCode: "by phone",
  key: (key: string) => `key ${key}`,
  slots: (count: number, text: string) => (count === 1 ? "1 slot" : `${text} slots`),
  until: (day: string) => `until ${day}`,
  note: (note: string) => `“${note}”`,
  nothing: "no wishes",
  days: (days: number) => (days === 0 ? "today" : days === 1 ? "1 day" : `${days} days`),
  show: "Show again",
  showLabel: (what: string) => `Show again the request for ${what}`,
  shownTitle: (what: string) => `Request for ${what}`,
  shownText: "The same request as before. Send it to the vendor as a file, as text or as QR codes.",
  codeText: "The same activation code as before. Read it out to the vendor.",
  cancel: "Cancel request",
  cancelLabel: (what: string) => `Cancel request for ${what}`,
  cancelTitle: (what: string) => `Cancel the request for ${what}?`,
  cancelText:
    "If the vendor answers it later, the answer will be refused. For another license, create a new request.",
  pending: (age: string) => `Request open, ${age}: waiting for the vendor`,
} as const;
