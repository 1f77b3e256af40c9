// Compares texts with a committed file, or writes that file.
import { expect } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Texts by their titles, for example a reply by its route. */
export type Sections = Readonly<Record<string, string>>;

const TITLE = "=== ";
/** Lines of a difference that are printed for each section. */
const SHOWN_LINES = 20;

const HINT =
  "If users should see this change, write the files again and commit them:\n" +
  "  KEEP_GOLDEN=1 bun test test/golden";

/** Expects that the file has exactly these sections; with KEEP_GOLDEN, writes it. */
export function expectGolden(file: string, sections: Sections): void {
  const path = join(import.meta.dir, "files", file);
  if (process.env["KEEP_GOLDEN"] !== undefined) {
    writeFileSync(path, formatSections(sections));
    return;
  }
  const kept = existsSync(path) ? parseSections(readFileSync(path, "utf8")) : {};
  // Compared in the form of the file, which has no spaces at the end of a section.
  const actual = parseSections(formatSections(sections));
  const titles = [...new Set([...Object.keys(kept), ...Object.keys(actual)])];
  const differences = titles.flatMap((title) => describe(title, kept[title], actual[title]));
  if (differences.length > 0) {
    expect.unreachable(`test/golden/files/${file} differs:\n${differences.join("\n")}\n${HINT}`);
  }
}

const formatSections = (sections: Sections): string =>
  Object.entries(sections)
    .map(([title, text]) => `${TITLE}${title}\n${text.trimEnd()}\n`)
    .join("\n");

function parseSections(text: string): Record<string, string> {
  const sections = text.split(new RegExp(`^${TITLE}`, "m")).slice(1);
  return Object.fromEntries(
    sections.map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1).trimEnd()];
    }),
  );
}

function describe(title: string, kept: string | undefined, actual: string | undefined): string[] {
  if (kept === actual) return [];
  const change = kept === undefined ? " (new)" : actual === undefined ? " (removed)" : "";
  const lines = compareLines(kept?.split("\n") ?? [], actual?.split("\n") ?? []);
  const more = lines.length - SHOWN_LINES;
  return [
    `${TITLE}${title}${change}`,
    ...lines.slice(0, SHOWN_LINES),
    ...(more > 0 ? [`… ${more} more lines`] : []),
  ];
}

/** The lines that only one of the texts has, in the order of the texts. */
function compareLines(before: readonly string[], after: readonly string[]): string[] {
  // common[i][j]: how many lines the ends of both texts from there have in common.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const commonFrom = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const longest =
        before[i] === after[j]
          ? commonFrom(i + 1, j + 1) + 1
          : Math.max(commonFrom(i + 1, j), commonFrom(i, j + 1));
      common[i]?.fill(longest, j, j + 1);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      i += 1;
      j += 1;
    } else if (
      j === after.length ||
      (i < before.length && commonFrom(i + 1, j) >= commonFrom(i, j + 1))
    ) {
      lines.push(`- ${before[i]}`);
      i += 1;
    } else {
      lines.push(`+ ${after[j]}`);
      j += 1;
    }
  }
  return lines;
}
