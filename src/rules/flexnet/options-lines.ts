/** One option of an options file: a line, with the lines that a backslash joins to it. */
export interface OptionsLine {
  /** Number of the first line, from 1. */
  readonly first: number;
  readonly last: number;
  /** The joined lines, as they were written. */
  readonly text: string;
  /** Empty if a quote is not closed. */
  readonly words: readonly string[];
  /** What follows a `#` in the middle of the line; null: there is none. */
  readonly remark: string | null;
}

export interface OptionsFile {
  readonly lines: readonly OptionsLine[];
  /** Comment lines that end with a backslash; FlexNet may read the next line as a comment too. */
  readonly continuedComments: readonly number[];
}

/** Splits an options file into its options. Comment lines and empty lines are left out. */
export function readOptionsFile(text: string): OptionsFile {
  const lines: OptionsLine[] = [];
  const continuedComments: number[] = [];
  const physicalLines = (text.startsWith("\uFEFF") ? text.slice(1) : text).split(/\r\n|\n|\r/);
  for (let index = 0; index < physicalLines.length; index += 1) {
    const first = index + 1;
    let part = (physicalLines[index] ?? "").trim();
    if (part.startsWith("#")) {
      if (part.endsWith("\\")) continuedComments.push(first);
      continue;
    }
    const parts: string[] = [];
    while (part.endsWith("\\") && index + 1 < physicalLines.length) {
      parts.push(part.slice(0, -1).trimEnd());
      index += 1;
      part = (physicalLines[index] ?? "").trim();
    }
    parts.push(part.endsWith("\\") ? part.slice(0, -1).trimEnd() : part);
    const joined = parts.filter((text) => text !== "").join(" ");
    if (joined === "") continue;
    lines.push({ first, last: index + 1, text: joined, ...splitWords(joined) });
  }
  return { lines, continuedComments };
}

const WORD = /"([^"]*)"|[^\s"]+/g;

function splitWords(text: string): Pick<OptionsLine, "words" | "remark"> {
  const quotes = text.split('"').length - 1;
  if (quotes % 2 === 1) return { words: [], remark: null };
  const words: string[] = [];
  for (const match of text.matchAll(WORD)) {
    if (match[0].startsWith("#")) return { words, remark: text.slice(match.index) };
    words.push(match[1] ?? match[0]);
  }
  return { words, remark: null };
}
