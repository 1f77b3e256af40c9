/** A value as one word of a shell's line, whatever is in it. */
export const quoteForShell = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
