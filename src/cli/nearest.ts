/** What somebody most likely meant; null when nothing known is near enough to be worth saying. */
export function findNearest(typed: string, known: readonly string[]): string | null {
  const near = known
    .map((word) => ({ word, slips: slipsBetween(typed, word) }))
    .filter(({ word, slips }) => slips <= MOST_SLIPS && slips * 2 < word.length)
    .toSorted((a, b) => a.slips - b.slips);
  return near[0]?.word ?? null;
}

const MOST_SLIPS = 2;
/** Longer than any name there is: nobody waits for a comparison with a whole letter. */
const LONGEST = 64;

/** Letters left out, added, mistaken or swapped with their neighbour. */
function slipsBetween(a: string, b: string): number {
  if (a.length > LONGEST) return a.length;
  const rows: number[][] = [[...Array(b.length + 1).keys()]];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(i - 2, j - 2) + 1 : Infinity;
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same, swapped));
    }
  }
  return at(a.length, b.length);
}
