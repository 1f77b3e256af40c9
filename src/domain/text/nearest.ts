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

/**
 * How many letters are missing, added, replaced, or swapped with their neighbor. More than the
 * maximum is Infinity, so that only letters near the same place are compared.
 */
function editDistance(a: string, b: string): number {
  if (a.length > MAX_LENGTH || Math.abs(a.length - b.length) > MAX_DISTANCE) return Infinity;
  const width = 2 * MAX_DISTANCE + 1;
  const distances = Array.from({ length: (a.length + 1) * width }, () => Infinity);
  const indexOf = (i: number, j: number): number => i * width + (j - i + MAX_DISTANCE);
  const at = (i: number, j: number): number =>
    i < 0 || j < 0 || Math.abs(i - j) > MAX_DISTANCE
      ? Infinity
      : (distances[indexOf(i, j)] ?? Infinity);
  for (let i = 0; i <= a.length; i += 1) {
    const last = Math.min(b.length, i + MAX_DISTANCE);
    for (let j = Math.max(0, i - MAX_DISTANCE); j <= last; j += 1) {
      const substitution = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      distances[indexOf(i, j)] =
        i === 0 && j === 0
          ? 0
          : Math.min(
              at(i - 1, j) + 1,
              at(i, j - 1) + 1,
              at(i - 1, j - 1) + substitution,
              isSwap ? at(i - 2, j - 2) + 1 : Infinity,
            );
    }
  }
  return at(a.length, b.length);
}
