/** Rules need four levels: each bracket that is open at the same time is one. */
const MAX_DEPTH = 32;

/**
 * The line in which lists and tables are nested too deep; null: in none. What reads the text later
 * is recursive, so a text of brackets must not reach it.
 */
export function findDeepLine(text: string): number | null {
  let [line, depth] = [1, 0];
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (char === "\n") line += 1;
    else if (char === "[" || char === "{") {
      depth += 1;
      if (depth > MAX_DEPTH) return line;
    } else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
    else if (char === "#" || char === '"' || char === "'") {
      const end = findEnd(text, index);
      for (; index < end; index += 1) if (text[index] === "\n") line += 1;
      // The loop steps over the last character.
      index -= 1;
    }
  }
  return null;
}

/** Where the comment or the string that begins here has ended. */
function findEnd(text: string, start: number): number {
  const quote = text[start] ?? "";
  const isComment = quote === "#";
  const isLong = !isComment && text.startsWith(quote.repeat(3), start);
  const close = isComment ? "\n" : isLong ? quote.repeat(3) : quote;
  for (let index = start + close.length; index < text.length; index += 1) {
    if (text.startsWith(close, index)) return isComment ? index : endOfQuotes(text, index, isLong);
    // A string that is not closed ends with its line.
    if (!isLong && text[index] === "\n") return index;
    if (quote === '"' && text[index] === "\\") index += 1;
  }
  return text.length;
}

/** A long string may end with one or two quotes of its own. */
function endOfQuotes(text: string, start: number, isLong: boolean): number {
  let end = start + (isLong ? 3 : 1);
  const last = isLong ? end + 2 : end;
  while (end < last && text[end] === text[start]) end += 1;
  return end;
}
