/** Rows beyond either edge, so that a quick scroll shows no gap. */
const OVERSCAN = 6;

export interface RowRange {
  readonly first: number;
  /** The first one that is not drawn any more. */
  readonly end: number;
}

/** Which of so many rows are to be drawn, when this one is the first in view of those that fit. */
export function visibleRowsOf(top: number, fitting: number, count: number): RowRange {
  const first = Math.max(0, Math.min(top, count) - OVERSCAN);
  return { first, end: Math.min(count, Math.max(top, first) + fitting + OVERSCAN) };
}
