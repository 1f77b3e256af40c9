const encoder = new TextEncoder();

/** The size of a text in UTF-8. The page uses it too, and has no `Buffer`. */
export const countBytes = (text: string): number => encoder.encode(text).length;
