import { escapeToOneLine } from "./terminal.ts";

/** Lines of a terminal that is not wide; a longer word has a line of its own. */
const MAX_COLUMNS = 100;

/** Breaks a text at spaces, so that each line fits. Foreign text cannot begin a new line. */
function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of escapeToOneLine(text).split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && Bun.stringWidth(longer) > columns) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

export interface LabelledText {
  readonly label: string;
  readonly text: string;
  /** A command stays on one line, so that it can be copied. */
  readonly isCommand?: boolean;
}

/** Two columns; the texts of the second are wrapped. */
export function formatWrappedRows(rows: readonly LabelledText[]): string {
  const width = Math.max(0, ...rows.map(({ label }) => Bun.stringWidth(escapeToOneLine(label))));
  return rows
    .flatMap(({ label, text, isCommand = false }) =>
      wrapText(text, isCommand ? Infinity : MAX_COLUMNS - width - 2).map((line, index) => {
        const first = index === 0 ? escapeToOneLine(label) : "";
        const padding = " ".repeat(width - Bun.stringWidth(first) + 2);
        return `${first}${padding}${line}`.trimEnd();
      }),
    )
    .join("\n");
}
