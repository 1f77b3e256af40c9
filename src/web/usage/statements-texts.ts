import { siteSlug } from "../../domain/text/site-slug.ts";

export const statements = {
  title: "What to send the vendor",
  explain:
    "A usage statement is a signed file with figures by day for the licenses of one vendor. It has no names of users or machines.",
  noVendor: "No vendor’s license is installed.",
  noLicense: "No license of this vendor is installed.",
  upToDate: "All days until yesterday are in a statement.",
  unreported: (days: number, from: string) =>
    `${days === 1 ? "1 day is" : `${days} days are`} in no statement yet, from ${from}.`,
  wants: (days: number) => `The vendor wants one every ${days} days.`,
  isDue: (days: number) => `The vendor wants one every ${days} days: it is due now.`,
  make: "Make the next statement",
  makeLabel: (vendor: string) => `Make the next statement for ${vendor}`,
  saved: (number: number, vendor: string) =>
    `Statement ${number} was made and saved: send the file to ${vendor}.`,
  list: (vendor: string) => `Statements for ${vendor}`,
  none: "None",
  number: (number: number) => `Statement ${number}`,
  columns: { number: "Statement", from: "From", until: "Until", state: "State" },
  states: { acknowledged: "acknowledged by the vendor", open: "not acknowledged yet" },
  download: "Download",
  downloadLabel: (number: number, vendor: string) => `Download statement ${number} for ${vendor}`,
  fileName: (vendor: string, number: number) => `usage-${siteSlug(vendor)}${number}.jwt`,
  acknowledge: "The vendor’s acknowledgement",
  acknowledgeFile: "the acknowledgement",
  acknowledged: (number: number) => `The vendor has acknowledged statement ${number}.`,
  known: (number: number, newest: number) =>
    `Nothing changed: statement ${number} was acknowledged before; the newest is ${newest}.`,
} as const;
