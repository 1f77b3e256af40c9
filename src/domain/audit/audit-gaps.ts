import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { limits } from "../model/limits.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { AuditGap, State } from "../model/state.ts";

/** Lines of the audit log that were searched for and not found, or that shall be removed. */
export interface DeclareAuditGaps {
  readonly type: "DeclareAuditGaps";
  readonly gaps: readonly Omit<AuditGap, "at">[];
  readonly note: string;
  readonly peer: string;
}

/**
 * A declared gap is an event like any other, and part of the audit chain it describes. So every
 * missing range of lines is accounted for by an operator.
 */
export function decideDeclareAuditGaps(
  state: State,
  { gaps, note, peer }: DeclareAuditGaps,
  { at }: RuleContext,
): Result<Decision<{ readonly gaps: readonly AuditGap[] }>, Fault> {
  const declaredGaps = gaps.map((gap): AuditGap => ({ ...gap, at }));
  const allGaps = declaredGaps.reduce<readonly AuditGap[]>(addGap, state.auditGaps);
  if (allGaps.length > limits.auditGaps) {
    return err({ code: "too_many_audit_gaps", limit: limits.auditGaps });
  }
  return makeDecision(
    declaredGaps.map((gap) => ({ type: "AuditGapDeclared", at, gap, note, peer })),
    { gaps: declaredGaps },
  );
}

/** A gap replaces all gaps that lie within it. */
export const addGap = (gaps: readonly AuditGap[], gap: AuditGap): readonly AuditGap[] =>
  [...gaps.filter(({ from, to }) => from < gap.from || to > gap.to), gap].toSorted(
    (a, b) => a.from - b.from,
  );

/** The declared gap that contains a line of the audit log; null: the line must exist. */
export const findGap = (gaps: readonly AuditGap[], line: number): AuditGap | null =>
  gaps.find(({ from, to }) => from <= line && line <= to) ?? null;

/** The position after a line of the audit log. */
export interface AuditPosition {
  readonly seq: number;
  readonly sum: string;
}

/** Returns `start`, or the position after the declared gaps that begin there. */
export function skipGaps(gaps: readonly AuditGap[], start: AuditPosition): AuditPosition {
  let position = start;
  for (;;) {
    const gap = findGap(gaps, position.seq + 1);
    // A gap that continues a different line does not describe what is missing here.
    if (gap === null || (gap.from === position.seq + 1 && gap.before !== position.sum))
      return position;
    position = { seq: gap.to, sum: gap.after };
  }
}
