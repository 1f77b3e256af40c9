/** Longer texts are computed each time, so that the memory of a cache is bounded. */
const MAX_KEY_LENGTH = 128;

/**
 * Remembers the results of a function of one text for the last few texts. For values that nearly
 * every request repeats, such as a host name; callers choose them, so the number is bounded.
 */
export function memoize<T>(compute: (text: string) => T, maxEntries: number): (text: string) => T {
  const results = new Map<string, T>();
  return (text) => {
    const known = results.get(text);
    if (known !== undefined) return known;
    const result = compute(text);
    if (result === undefined || text.length > MAX_KEY_LENGTH) return result;
    if (results.size >= maxEntries) results.clear();
    results.set(text, result);
    return result;
  };
}
