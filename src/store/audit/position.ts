/**
 * A place in the record, for reading backwards from it: the events of `line` before its event
 * number `part`, and all lines before that one.
 */
export interface AuditPosition {
  readonly auditSeq: number;
  readonly eventIndex: number;
  /**
   * Journal lines from this one on hold nothing of that: renewals are many, and should be passed
   * over once only. Infinity: nobody looked there yet.
   */
  readonly journalSeq: number;
}

const POSITION_PATTERN = /^([1-9]\d{0,15})(?:\.(\d{1,7})(?:\.([1-9]\d{0,15}))?)?$/;

export const positionBefore = (line: number): AuditPosition => ({
  auditSeq: line,
  eventIndex: 0,
  journalSeq: Infinity,
});

/** Null when the text is not a position. */
export function parsePosition(text: string): AuditPosition | null {
  const found = POSITION_PATTERN.exec(text);
  if (found === null) return null;
  const [, line, part, seen] = found;
  return {
    auditSeq: Number(line),
    eventIndex: Number(part ?? 0),
    journalSeq: Number(seen ?? Infinity),
  };
}

export function formatPosition({ auditSeq, eventIndex, journalSeq }: AuditPosition): string {
  if (journalSeq !== Infinity) return `${auditSeq}.${eventIndex}.${journalSeq}`;
  return eventIndex === 0 ? `${auditSeq}` : `${auditSeq}.${eventIndex}`;
}
