/** Quotes a path in a command that is printed to be copied into a shell. */
export const quoteForShell = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
