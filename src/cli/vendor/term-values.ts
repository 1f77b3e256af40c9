/** Whether the value of a flag removes a term. */
export const isUnset = (text: string): boolean => text === "never" || text === "none";

/** Text that is not a number stays text, so that the error can show it. */
export const numberOrText = (text: string): number | string =>
  /^\d{1,15}$/.test(text) ? Number(text) : text;
