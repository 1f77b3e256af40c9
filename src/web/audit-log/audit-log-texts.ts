import type { EventKind } from "../../domain/event-row.ts";

const KIND_NAMES: Readonly<Record<EventKind, string>> = {
  slots: "Slots",
  licenses: "Licenses",
  consumption: "Consumption",
  refusals: "Refusals",
  administration: "Administration",
  appliance: "Appliance",
};

export const auditLog = {
  title: "Audit log",
  about:
    "Everything that happened on this server, newest first. Each line is chained to the one before, so that a removed or changed line is detected. Lines that were declared lost are named in the chain itself.",
  kinds: KIND_NAMES,
  filter: {
    title: "Show",
    kind: "Kind",
    all: "Everything",
    text: "Search",
    product: "Product",
    anyProduct: "Any",
    from: "From",
    to: "To",
    user: (user: string) => `User: ${user}`,
    license: (license: string) => `License: ${license}`,
    clear: "Clear filters",
  },
  list: "Events",
  newEvents: (count: number) => (count === 1 ? "1 new event" : `${count} new events`),
  loadOlder: "Load older events",
  scanFurther: "Search older events",
  scannedUntil: (when: string) => `Searched back to ${when}.`,
  startOfLog: "Start of the audit log.",
  empty: "No events yet.",
  noMatches: "No event in the audit log matches.",
  line: (seq: string) => `line ${seq}`,
  by: (peer: string) => `from ${peer}`,
  license: (license: string) => `license ${license}`,
  lastUsers: (users: string) => `Last users: ${users}`,
  integrity: {
    notChecked: "Not verified yet.",
    check: "Verify the audit log",
    checkAgain: "Verify again",
    intact: "The audit log is intact.",
    coverage: (from: string, to: string, files: string) =>
      `Lines ${from} to ${to}, in ${files}, are chained without a gap.`,
    coverageWithGaps: (from: string, to: string, files: string) =>
      `Lines ${from} to ${to}, in ${files}, are chained, except those declared lost:`,
    gap: (from: string, to: string, reason: string, when: string) =>
      `lines ${from} to ${to} (${reason}), declared ${when}`,
    empty: "No event has been moved to the audit log’s files yet; the journal before it is intact.",
    files: (count: number) => (count === 1 ? "1 file" : `${count} files`),
    lastLine: (line: string) => `The chain ends with line ${line}:`,
    checkedAt: (when: string) => `Verified ${when}, up to the last event at that time.`,
    broken: "The audit log is damaged.",
  },
  export: {
    open: "Export…",
    title: "Export the audit log",
    text: "A file with one line of JSON for each command, byte for byte as stored on the server.",
    from: "From the beginning of",
    to: "To the end of",
    startOfLog: "the audit log",
    endOfLog: "the audit log (today)",
    save: "Save the audit log",
    exportCommand: "berth audit --out audit.jsonl",
    verifyHint: "Anyone with Berth can verify the exported file, on any machine:",
    verifyCommand: "berth audit verify audit.jsonl",
    invalidRange: "The first month is after the last one.",
  },
} as const;
