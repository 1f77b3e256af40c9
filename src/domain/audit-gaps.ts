import type { DeclareAuditGaps } from "./command.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { Fault } from "./fault.ts";
import { limits } from "./limits.ts";
import { err, type Result } from "./result.ts";
import type { AuditGap, State } from "./state.ts";
import type { Instant } from "./time.ts";

/**
 * A declared gap is an event like any other: it stands in the chain it is about, so that lines can
 * be missing without a hole that nobody has answered for.
 */
export function decideDeclareAuditGaps(
  state: State,
  { gaps, note, peer }: DeclareAuditGaps,
  at: Instant,
): Result<Decision<{ readonly gaps: readonly AuditGap[] }>, Fault> {
  const declared = gaps.map((gap): AuditGap => ({ ...gap, at }));
  const after = declared.reduce<readonly AuditGap[]>(addGap, state.auditGaps);
  if (after.length > limits.auditGaps) {
    return err({ code: "too_many_audit_gaps", limit: limits.auditGaps });
  }
  return makeDecision(
    declared.map((gap) => ({ type: "AuditGapDeclared", at, gap, note, peer })),
    { gaps: declared },
  );
}

/** A gap takes the place of those that lie within it. */
export const addGap = (gaps: readonly AuditGap[], gap: AuditGap): readonly AuditGap[] =>
  [...gaps.filter(({ from, to }) => from < gap.from || to > gap.to), gap].toSorted(
    (a, b) => a.from - b.from,
  );

/** The declared gap that a line of the audit log lies in; null: it must be there. */
export const findGap = (gaps: readonly AuditGap[], line: number): AuditGap | null =>
  gaps.find(({ from, to }) => from <= line && line <= to) ?? null;

/** Behind a line of the audit log. */
export interface AuditPosition {
  readonly seq: number;
  readonly sum: string;
}

/** The same place, or the one behind the declared gaps that begin there. */
export function skipGaps(gaps: readonly AuditGap[], start: AuditPosition): AuditPosition {
  let place = start;
  for (;;) {
    const gap = findGap(gaps, place.seq + 1);
    // One that continues another line than this is not about what is missing here.
    if (gap === null || (gap.from === place.seq + 1 && gap.before !== place.sum)) return place;
    place = { seq: gap.to, sum: gap.after };
  }
}
