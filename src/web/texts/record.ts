import type { Kind } from "../record/kinds.ts";

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  slots: "Slots",
  licenses: "Licenses",
  consumption: "Consumption",
  refusals: "Refusals",
  administration: "Administration",
  appliance: "Appliance",
};

export const record = {
  title: "Record",
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
  fresh: (count: number) => (count === 1 ? "1 new event" : `${count} new events`),
  older: "Older events",
  further: "Look further back",
  lookedBackTo: (when: string) => `Looked back to ${when}.`,
  beginning: "This is where the record begins.",
  nothing: "Nothing has happened yet.",
  nothingFound: "Nothing in the record fits that.",
  line: (seq: string) => `line ${seq}`,
  by: (peer: string) => `from ${peer}`,
  license: (license: string) => `license ${license}`,
  lastUsers: (users: string) => `Last: ${users}`,
  chain: {
    never: "Not checked yet.",
    check: "Check the chain",
    again: "Check again",
    whole: "The record is whole.",
    facts: (from: string, to: string, files: string) =>
      `Lines ${from} to ${to}, in ${files}, are chained without a gap.`,
    gapped: (from: string, to: string, files: string) =>
      `Lines ${from} to ${to}, in ${files}, are chained, but for what was declared as gone:`,
    gap: (from: string, to: string, reason: string, when: string) =>
      `lines ${from} to ${to} (${reason}), declared ${when}`,
    empty: "Nothing has been moved to the record’s own files yet; the journal before it is whole.",
    files: (count: number) => (count === 1 ? "1 file" : `${count} files`),
    ends: (line: string) => `The chain ends with line ${line}:`,
    checkedAt: (when: string) => `Checked ${when}, up to what had happened by then.`,
    broken: "The record is not whole.",
  },
  export: {
    open: "Save as file…",
    title: "Take the record away",
    text: "As a file with a line of JSON for each thing that was done, byte for byte as it stands here.",
    from: "From the beginning of",
    to: "To the end of",
    first: "the record",
    last: "the record (today)",
    save: "Save the record",
    outCommand: "berth record --out record.jsonl",
    checkWith: "Anybody with Berth can check such a file, on any machine:",
    command: "berth record verify record.jsonl",
    backwards: "The first month is after the last one.",
  },
} as const;
