/** Rows beyond either edge, so that a quick scroll shows no gap. */
const BEYOND = 6;

export interface Drawn {
  readonly first: number;
  /** The first one that is not drawn any more. */
  readonly end: number;
}

/** Which of so many rows are to be drawn, when this one is the first in view of those that fit. */
export function windowOf(top: number, fitting: number, count: number): Drawn {
  const first = Math.max(0, Math.min(top, count) - BEYOND);
  return { first, end: Math.min(count, Math.max(top, first) + fitting + BEYOND) };
}
