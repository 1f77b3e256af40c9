/**
 * A place in the record, for reading backwards from it: the events of `line` before its event
 * number `part`, and all lines before that one.
 */
export interface Position {
  readonly line: number;
  readonly part: number;
  /**
   * Journal lines from this one on hold nothing of that: renewals are many, and should be passed
   * over once only. Infinity: nobody looked there yet.
   */
  readonly seen: number;
}

const POSITION = /^([1-9]\d{0,15})(?:\.(\d{1,7})(?:\.([1-9]\d{0,15}))?)?$/;

export const before = (line: number): Position => ({ line, part: 0, seen: Infinity });

/** Null when the text is not a position. */
export function parsePosition(text: string): Position | null {
  const found = POSITION.exec(text);
  if (found === null) return null;
  const [, line, part, seen] = found;
  return { line: Number(line), part: Number(part ?? 0), seen: Number(seen ?? Infinity) };
}

export function positionText({ line, part, seen }: Position): string {
  if (seen !== Infinity) return `${line}.${part}.${seen}`;
  return part === 0 ? `${line}` : `${line}.${part}`;
}
