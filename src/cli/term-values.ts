/** What a flag is given to take a term away. */
export const isUnset = (text: string): boolean => text === "never" || text === "none";

/** A text that is no number stays what it is, so that the refusal can show it. */
export const numberOrText = (text: string): number | string =>
  /^\d{1,15}$/.test(text) ? Number(text) : text;
