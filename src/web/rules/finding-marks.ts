import type { RulesFinding } from "../../rules/rules-finding.ts";

export type Severity = RulesFinding["severity"];

/** By line, the most severe finding. A finding of the whole file marks no line. */
export function markLines(findings: readonly RulesFinding[]): ReadonlyMap<number, Severity> {
  const marks = new Map<number, Severity>();
  for (const { line, severity } of findings) {
    if (line > 0 && marks.get(line) !== "error") marks.set(line, severity);
  }
  return marks;
}

export const countFindings = (findings: readonly RulesFinding[], severity: Severity): number =>
  findings.filter((finding) => finding.severity === severity).length;
