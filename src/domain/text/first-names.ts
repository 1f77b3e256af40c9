const MAX_NAMES = 3;

/** The first names of a list for a message; the rest is counted. */
export function formatFirstNames(names: readonly string[]): string {
  const rest = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
