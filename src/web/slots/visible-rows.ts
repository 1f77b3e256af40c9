/** Extra rows beyond either edge, so that a quick scroll shows no gap. */
const OVERSCAN = 6;

export interface RowRange {
  readonly first: number;
  /** The first row after the range. */
  readonly end: number;
}

/** The rows to draw: `top` is the first visible row, `fitting` the number that fit in the view. */
export function visibleRowsOf(top: number, fitting: number, count: number): RowRange {
  const first = Math.max(0, Math.min(top, count) - OVERSCAN);
  return { first, end: Math.min(count, Math.max(top, first) + fitting + OVERSCAN) };
}
