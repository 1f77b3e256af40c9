/** Control characters, everything Unicode says to show nothing for, line separators. */
export const INVISIBLE = /[\p{Cc}\p{DI}\u2028\u2029]/u;

/** The same, in text that may have lines and columns. */
export const INVISIBLE_IN_TEXT = /(?![\t\n\r])[\p{Cc}\p{DI}\u2028\u2029]/u;

/** White space that nobody would read out: at an end, twice in a row, or of another kind. */
const AMBIGUOUS_SPACE = /^ | $| {2}|[^\S ]/u;

/** A Braille pattern without dots: a symbol by its name, and nothing to look at. */
const BLANK = "\u2800";

/**
 * Whether a license key can be told from every other by looking at it, as far as characters go that
 * show nothing: a key is sold once, and must not count twice because of one of those.
 */
export const isReadableKey = (key: string): boolean =>
  key.isWellFormed() &&
  ![INVISIBLE, AMBIGUOUS_SPACE].some((one) => one.test(key)) &&
  !key.includes(BLANK);
