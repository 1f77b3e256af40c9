import { DONE, FAILED, NEEDS_OPERATOR } from "../command.ts";

/** From nothing to do to nothing works. */
const LEVELS = ["ok", "note", "warning", "error"] as const;

export type Level = (typeof LEVELS)[number];

/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly level: Level;
  readonly finding: string;
  /** What to do about it; empty when there is nothing to do. */
  readonly remedy: string;
}

export const ok = (check: string, text: string): Finding => ({
  check,
  level: "ok",
  finding: text,
  remedy: "",
});

export const finding = (
  check: string,
  level: Exclude<Level, "ok">,
  text: string,
  remedy: string,
): Finding => ({ check, level, finding: text, remedy });

export const worstOf = (findings: readonly Finding[]): Level =>
  LEVELS.findLast((level) => findings.some((one) => one.level === level)) ?? "ok";

/** Notes ask for nothing; a warning is a failure to a script, and so is what is worse. */
export const exitCodeOf = (findings: readonly Finding[]): number =>
  ({ ok: DONE, note: DONE, warning: FAILED, error: NEEDS_OPERATOR })[worstOf(findings)];
