/** The known word that is most similar to the typed one; null: none is similar enough. */
export function findNearest(typed: string, known: readonly string[]): string | null {
  const near = known
    .map((word) => ({ word, distance: editDistance(typed, word) }))
    .filter(({ word, distance }) => distance <= MAX_DISTANCE && distance * 2 < word.length)
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.word ?? null;
}

const MAX_DISTANCE = 2;
/** Longer than any name; a long text is not compared, which would take too long. */
const MAX_LENGTH = 64;

/** How many letters are missing, added, replaced, or swapped with their neighbor. */
function editDistance(a: string, b: string): number {
  if (a.length > MAX_LENGTH) return a.length;
  const rows: number[][] = [[...Array(b.length + 1).keys()]];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? at(i - 2, j - 2) + 1 : Infinity;
      rows[i]?.push(
        Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + substitution, swap),
      );
    }
  }
  return at(a.length, b.length);
}
