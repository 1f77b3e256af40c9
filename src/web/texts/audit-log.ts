import type { EventKind } from "../audit-log/event-kinds.ts";

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
    "Everything that happened here, newest first. Each line is chained to the one before, so nothing can be taken out or changed unnoticed; lines that were declared as gone are named in the chain itself.",
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
    user: (user: string) => `only of user ${user}`,
    license: (license: string) => `only of license ${license}`,
    clear: "Show everything",
  },
  list: "Events",
  newEvents: (count: number) => (count === 1 ? "1 new event" : `${count} new events`),
  loadOlder: "Older events",
  scanFurther: "Look further back",
  scannedUntil: (when: string) => `Looked back to ${when}.`,
  startOfLog: "This is the beginning of the audit log.",
  empty: "Nothing has happened yet.",
  noMatches: "No event in the audit log matches.",
  line: (seq: string) => `line ${seq}`,
  by: (peer: string) => `from ${peer}`,
  license: (license: string) => `license ${license}`,
  lastUsers: (users: string) => `Last: ${users}`,
  integrity: {
    notChecked: "Not checked yet.",
    check: "Check the chain",
    checkAgain: "Check again",
    intact: "The audit log is intact.",
    coverage: (from: string, to: string, files: string) =>
      `Lines ${from} to ${to}, in ${files}, are chained without a gap.`,
    coverageWithGaps: (from: string, to: string, files: string) =>
      `Lines ${from} to ${to}, in ${files}, are chained, but for what was declared as gone:`,
    gap: (from: string, to: string, reason: string, when: string) =>
      `lines ${from} to ${to} (${reason}), declared ${when}`,
    empty: "No event has been moved to the audit log’s files yet; the journal before it is intact.",
    files: (count: number) => (count === 1 ? "1 file" : `${count} files`),
    lastLine: (line: string) => `The chain ends with line ${line}:`,
    checkedAt: (when: string) => `Checked ${when}, up to what had happened by then.`,
    broken: "The audit log is damaged.",
  },
  export: {
    open: "Save as file…",
    title: "Export the audit log",
    text: "A file with one line of JSON for each command, byte for byte as it is stored here.",
    from: "From the beginning of",
    to: "To the end of",
    startOfLog: "the audit log",
    endOfLog: "the audit log (today)",
    save: "Save the audit log",
    exportCommand: "berth audit --out audit.jsonl",
    verifyHint: "Anybody with Berth can check such a file, on any machine:",
    verifyCommand: "berth audit verify audit.jsonl",
    invalidRange: "The first month is after the last one.",
  },
} as const;
