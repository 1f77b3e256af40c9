export const rules = {
  title: "Sharing rules",
  about:
    "Rules say who may have a slot, and how many. They narrow what the licenses grant. A user who has a slot keeps it when rules change.",
  editor: "Rules of this site (TOML)",
  editorHint:
    "Line numbers are those of findings and of refusals. The order of groups and rules does not matter.",
  none: "There are no rules: a free slot goes to the first user who asks.",
  applied: (when: string, groups: number, pools: number) =>
    `Applied on ${when}: ${counted(groups, "group", "groups")}, rules for ${counted(pools, "product or feature", "products and features")}.`,
  edited: "Not applied yet.",
  readOnly: "A viewer cannot change the rules.",
  findings: {
    title: "Findings",
    checking: "Checking…",
    none: "No findings: these rules can be applied.",
    noneOfApplied: "No findings.",
    count: (errors: number, warnings: number) =>
      [
        errors > 0 ? counted(errors, "error", "errors") : "",
        warnings > 0 ? counted(warnings, "warning", "warnings") : "",
      ]
        .filter(Boolean)
        .join(", "),
    cannotApply: "Rules with errors cannot be applied.",
    line: (line: number) => `Line ${line}`,
    wholeFile: "Whole file",
    severities: { error: "Error", warning: "Warning" },
  },
  apply: "Apply",
  applyLabel: "Apply the rules",
  appliedNow: "The rules are in effect.",
  discard: "Discard changes",
  restore: "Restore my text",
  restoreText: "Your text was replaced in the editor.",
  clear: {
    act: "Clear the rules",
    title: "Clear all rules?",
    text: "There are no rules after that: no reservations, no limits, and no user is denied. Users keep their slots and their places in the queue.",
    keep: "“Save as file” keeps a copy that can be applied again.",
    done: "There are no rules now.",
  },
  save: "Save as file",
  open: "Open a file",
  openLabel: "Open a file with rules",
  notUtf8: "This file is not UTF-8 text. Convert it first, for example with iconv.",
  tooLarge: "This file is larger than 1 MiB, which is more than rules may have.",
  changed: {
    title: "Other rules were applied meanwhile.",
    text: "Your text is kept. Applying it now would replace them.",
    load: "Load the applied rules",
    keep: "Keep my text, and replace them",
  },
  examples: {
    label: "Example",
    choose: "Choose an example",
    insert: "Insert at the end",
  },
  commands: ["berth rules show", "berth rules check rules.toml", "berth rules apply rules.toml"],
  fileName: (site: string) => `berth-${site}rules.toml`,
} as const;

/** "1 group", "2 groups" */
export const counted = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;
