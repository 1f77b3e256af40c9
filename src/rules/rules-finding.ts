/** What is wrong in a rules file, or what an operator should know about it. */
export interface RulesFinding {
  /** From 1; 0: the whole file. */
  readonly line: number;
  /** Rules with an error cannot be applied. */
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly hint: string | null;
}

/** A file with an error in every line must not fill the screen. */
const MAX_FINDINGS = 200;

/** Collects the findings of one text. */
export class FindingList {
  readonly #findings: RulesFinding[] = [];

  get hasErrors(): boolean {
    return this.#findings.some(({ severity }) => severity === "error");
  }

  error(line: number, message: string, hint: string | null = null): void {
    this.#findings.push({ line, severity: "error", message, hint });
  }

  warn(line: number, message: string, hint: string | null = null): void {
    this.#findings.push({ line, severity: "warning", message, hint });
  }

  list(): readonly RulesFinding[] {
    return sortFindings(this.#findings);
  }
}

/** In the order of their lines. Of too many, errors stay. */
export function sortFindings(findings: readonly RulesFinding[]): readonly RulesFinding[] {
  const isError = ({ severity }: RulesFinding): boolean => severity === "error";
  const all = findings.toSorted((a, b) => a.line - b.line);
  if (all.length <= MAX_FINDINGS) return all;
  const listed = [...all.filter(isError), ...all.filter((one) => !isError(one))].slice(
    0,
    MAX_FINDINGS,
  );
  return [
    ...listed.toSorted((a, b) => a.line - b.line),
    {
      line: 0,
      severity: listed.some(isError) ? "error" : "warning",
      message: `${all.length - MAX_FINDINGS} more findings are not listed`,
      hint: "correct these first, and check again",
    },
  ];
}
