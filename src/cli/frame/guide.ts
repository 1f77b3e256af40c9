// `berth help guide`: the guides as plain text, for a machine that has only the executable.
import { Misuse } from "./options.ts";
import vendorText from "../../desk/README.md" with { type: "text" };
import apiText from "../../http/README.md" with { type: "text" };
import pairText from "../PAIR.md" with { type: "text" };
import operatingText from "../README.md" with { type: "text" };

/** Beside the operating guide: most sites have one host, and other readers have their own. */
const GUIDES = new Map([
  ["pair", pairText],
  ["vendor", vendorText],
  ["api", apiText],
]);

/** The whole guide; with words after its name, the sections whose heading contains them. */
export function formatGuide(words: readonly string[]): string {
  const named = GUIDES.get(words[0]?.toLowerCase() ?? "");
  if (named !== undefined) return formatSections(plainText(named), words.slice(1));
  return formatSections(plainText(operatingText), words);
}

function formatSections(guide: string, words: readonly string[]): string {
  if (words.length === 0) return guide;
  const topic = words.join(" ").toLowerCase();
  // Before the first section stand the title and, with its own heading, the table of contents.
  const sections = guide.split(/\n(?=## )/).slice(2);
  const chosen = sections.filter((section) => headingOf(section).toLowerCase().includes(topic));
  if (chosen.length > 0) return chosen.map((section) => section.trimEnd()).join("\n\n");
  throw new Misuse(
    `no section of the guide is called "${words.join(" ")}"`,
    `one of: ${sections.map(headingOf).join("; ")}; other guides: ${[...GUIDES.keys()].join(", ")}`,
  );
}

const headingOf = (section: string): string => /^## (.*)/.exec(section)?.[1] ?? "";

/** Link targets and code fences mean nothing in a terminal; code is indented instead. */
function plainText(markdown: string): string {
  let isCode = false;
  return markdown
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      if (line.trimStart().startsWith("```")) {
        isCode = !isCode;
        return [];
      }
      if (isCode) return [`    ${line}`.trimEnd()];
      return line.startsWith("|") ? [plainRow(line)] : wrapLine(withoutLinks(line));
    })
    .join("\n");
}

const COLUMNS = 100;
const LIST_ITEM = /^\s*(?:[-*] |\d+\. )?/;

/** Continues an item of a list under its text. */
function wrapLine(line: string): string[] {
  const indent = " ".repeat(LIST_ITEM.exec(line)?.[0].length ?? 0);
  const lines: string[] = [];
  let rest = line;
  while (rest.length > COLUMNS) {
    const end = rest.lastIndexOf(" ", COLUMNS);
    // A word that does not fit on a line of its own.
    if (end <= indent.length) break;
    lines.push(rest.slice(0, end));
    rest = `${indent}${rest.slice(end + 1)}`;
  }
  return [...lines, rest];
}

const withoutLinks = (line: string): string => line.replaceAll(/\[([^[\]]+)\]\([^()]+\)/g, "$1");

/** A cell keeps its width, so that the columns stay aligned. */
const plainRow = (line: string): string =>
  line
    .split("|")
    .map((cell) => withoutLinks(cell).padEnd(cell.length))
    .join("|");
