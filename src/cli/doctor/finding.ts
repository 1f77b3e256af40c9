import { DONE, FAILED, NEEDS_OPERATOR } from "../command.ts";

/** From nothing to do to nothing works. */
const LEVELS = ["ok", "note", "warning", "broken"] as const;

export type Level = (typeof LEVELS)[number];

/** One thing that was looked at. */
export interface Finding {
  readonly check: string;
  readonly level: Level;
  readonly found: string;
  /** What to do about it; empty when there is nothing to do. */
  readonly advice: string;
}

export const ok = (check: string, found: string): Finding => ({
  check,
  level: "ok",
  found,
  advice: "",
});

export const finding = (
  check: string,
  level: Exclude<Level, "ok">,
  found: string,
  advice: string,
): Finding => ({ check, level, found, advice });

export const worstOf = (findings: readonly Finding[]): Level =>
  LEVELS.findLast((level) => findings.some((one) => one.level === level)) ?? "ok";

/** Notes ask for nothing; a warning is a failure to a script, and so is what is worse. */
export const exitCodeOf = (findings: readonly Finding[]): number =>
  ({ ok: DONE, note: DONE, warning: FAILED, broken: NEEDS_OPERATOR })[worstOf(findings)];
