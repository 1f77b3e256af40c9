import { EXIT_OK, EXIT_FAILURE, EXIT_NEEDS_OPERATOR } from "../frame/command.ts";

/** From the least to the most serious. */
const LEVELS = ["ok", "note", "warning", "error"] as const;

export type FindingLevel = (typeof LEVELS)[number];

/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly level: FindingLevel;
  readonly finding: string;
  /** What to do about it; empty when there is nothing to do. */
  readonly remedy: string;
}

export const okFinding = (check: string, text: string): Finding => ({
  check,
  level: "ok",
  finding: text,
  remedy: "",
});

export const createFinding = (
  check: string,
  level: Exclude<FindingLevel, "ok">,
  text: string,
  remedy: string,
): Finding => ({ check, level, finding: text, remedy });

export const worstLevel = (findings: readonly Finding[]): FindingLevel =>
  LEVELS.findLast((level) => findings.some((finding) => finding.level === level)) ?? "ok";

/** Notes require no action; for a script, a warning is a failure, and so is an error. */
export const exitCodeFor = (findings: readonly Finding[]): number =>
  ({ ok: EXIT_OK, note: EXIT_OK, warning: EXIT_FAILURE, error: EXIT_NEEDS_OPERATOR })[
    worstLevel(findings)
  ];
