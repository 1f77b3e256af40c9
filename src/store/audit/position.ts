/**
 * A position in the audit log, for reading backwards from it: the events of line `auditSeq` before
 * its event `eventIndex`, and all lines before that one.
 */
export interface AuditPosition {
  readonly auditSeq: number;
  readonly eventIndex: number;
  /**
   * Journal lines from this one on contain none of those: renewals are many, and should be skipped
   * only once. Infinity: unknown.
   */
  readonly journalSeq: number;
}

const POSITION_PATTERN = /^([1-9]\d{0,15})(?:\.(\d{1,7})(?:\.([1-9]\d{0,15}))?)?$/;

export const positionBefore = (auditSeq: number): AuditPosition => ({
  auditSeq,
  eventIndex: 0,
  journalSeq: Infinity,
});

/** Null when the text is not a position. */
export function parsePosition(text: string): AuditPosition | null {
  const match = POSITION_PATTERN.exec(text);
  if (match === null) return null;
  const [, auditSeq, eventIndex, journalSeq] = match;
  return {
    auditSeq: Number(auditSeq),
    eventIndex: Number(eventIndex ?? 0),
    journalSeq: Number(journalSeq ?? Infinity),
  };
}

export function formatPosition({ auditSeq, eventIndex, journalSeq }: AuditPosition): string {
  if (journalSeq !== Infinity) return `${auditSeq}.${eventIndex}.${journalSeq}`;
  return eventIndex === 0 ? `${auditSeq}` : `${auditSeq}.${eventIndex}`;
}
