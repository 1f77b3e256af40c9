/** Where a line begins and ends, without its line break; the last line if the text has fewer. */
export function rangeOfLine(text: string, line: number): readonly [start: number, end: number] {
  let start = 0;
  for (let number = 1; number < line; number += 1) {
    const next = text.indexOf("\n", start);
    if (next === -1) break;
    start = next + 1;
  }
  const end = text.indexOf("\n", start);
  return [start, end === -1 ? text.length : end];
}

export function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Successive lines with the same mark, or one line with a mark. */
export interface NumberedLines<Mark> {
  /** The numbers of the lines, one per line of the text. */
  readonly numbers: string;
  readonly mark: Mark | null;
}

/** The line numbers of a text: one part for all lines between two marked ones. */
export function numberLines<Mark>(
  count: number,
  marks: ReadonlyMap<number, Mark>,
): readonly NumberedLines<Mark>[] {
  const parts: NumberedLines<Mark>[] = [];
  let first = 1;
  const addUnmarked = (last: number): void => {
    if (last < first) return;
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    parts.push({ numbers: `${numbers.join("\n")}\n`, mark: null });
  };
  for (const [line, mark] of [...marks].toSorted(([a], [b]) => a - b)) {
    if (line < first || line > count) continue;
    addUnmarked(line - 1);
    parts.push({ numbers: `${line}\n`, mark });
    first = line + 1;
  }
  addUnmarked(count);
  return parts;
}
