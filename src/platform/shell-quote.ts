/** Quotes a word in a command that is printed to be copied into a shell. */
export const quoteForShell = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Quotes a word only if a shell would change or split it. */
export const quoteIfNeeded = (word: string): string =>
  /^[\w./:@%+=,-]+$/.test(word) ? word : quoteForShell(word);
