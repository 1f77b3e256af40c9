/** What is wrong in a rules file, or what an operator should know about it. */
export interface RulesFinding {
  /** From 1; 0: the whole file. */
  readonly line: number;
  /** Rules with an error cannot be applied. */
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly hint: string | null;
}

/** What helps; a function, if it takes time to find: few of many findings are listed. */
type Hint = string | null | (() => string);

type CollectedFinding = Omit<RulesFinding, "hint"> & { readonly hint: Hint };

/** A file with an error in every line must not fill the screen. */
const MAX_FINDINGS = 200;

/** Collects the findings of one text. */
export class FindingList {
  readonly #findings: CollectedFinding[] = [];

  get hasErrors(): boolean {
    return this.#findings.some(({ severity }) => severity === "error");
  }

  error(line: number, message: string, hint: Hint = null): void {
    this.#findings.push({ line, severity: "error", message, hint });
  }

  warn(line: number, message: string, hint: Hint = null): void {
    this.#findings.push({ line, severity: "warning", message, hint });
  }

  list(): readonly RulesFinding[] {
    return sortFindings(this.#findings);
  }
}

/** In the order of their lines. Of too many, errors stay. */
export function sortFindings(findings: readonly CollectedFinding[]): readonly RulesFinding[] {
  const all = findings.toSorted((a, b) => a.line - b.line);
  const listed =
    all.length <= MAX_FINDINGS
      ? all
      : [...all.filter(isError), ...all.filter((one) => !isError(one))]
          .slice(0, MAX_FINDINGS)
          .toSorted((a, b) => a.line - b.line);
  const found = listed.map(({ hint, ...finding }) => ({
    ...finding,
    hint: typeof hint === "function" ? hint() : hint,
  }));
  if (listed.length === all.length) return found;
  return [
    ...found,
    {
      line: 0,
      severity: listed.some(isError) ? "error" : "warning",
      message: `${all.length - MAX_FINDINGS} more findings are not listed`,
      hint: "correct these first, and check again",
    },
  ];
}

const isError = ({ severity }: Pick<RulesFinding, "severity">): boolean => severity === "error";
