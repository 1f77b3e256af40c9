/** Control characters, everything that Unicode marks as invisible, and line separators. */
export const INVISIBLE = /[\p{Cc}\p{DI}\u2028\u2029]/u;

/** The same, for text that may contain line breaks and tabs. */
export const INVISIBLE_IN_TEXT = /(?![\t\n\r])[\p{Cc}\p{DI}\u2028\u2029]/u;

/** White space that cannot be read out: leading, trailing, doubled, or other than a plain space. */
const AMBIGUOUS_SPACE = /^ | $| {2}|[^\S ]/u;

/** A Braille pattern without dots: Unicode classes it as a symbol, but it is invisible. */
const BLANK = "\u2800";

/**
 * Whether a license key contains no invisible characters. A key is sold once; two keys that look
 * the same must not count as two.
 */
export const isReadableKey = (key: string): boolean =>
  key.isWellFormed() &&
  ![INVISIBLE, AMBIGUOUS_SPACE].some((pattern) => pattern.test(key)) &&
  !key.includes(BLANK);
