/**
 * The only module that prints. Facts go to stdout, everything said to a person about a failure to
 * stderr.
 */

export function print(text = ""): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

export function printError(message: string, hint: string): void {
  process.stderr.write(`berth: error: ${visible(message)}\n`);
  if (hint !== "") process.stderr.write(`berth: hint: ${visible(hint)}\n`);
}

export function printWarning(message: string): void {
  process.stderr.write(`berth: warning: ${visible(message)}\n`);
}

/** Columns as wide as their widest cell, the last one as long as it is. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, Bun.stringWidth(visible(cell)));
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => padded(visible(cell), widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

const padded = (cell: string, width: number): string =>
  cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));

/**
 * Names and notes come from elsewhere: nothing in them may move the cursor or turn the text round.
 */
const visible = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, (char) =>
    char === "\n" ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
