// `berth help guide`: the operating guide as plain text, for a machine that has only the executable.
import { Misuse } from "./options.ts";
import pairText from "../PAIR.md" with { type: "text" };
import text from "../README.md" with { type: "text" };

/** The whole guide; with words, the sections whose heading contains them. */
export function formatGuide(words: readonly string[]): string {
  // A guide of its own: most sites have one host.
  if (words.join(" ").toLowerCase() === "pair") return plainText(pairText);
  const guide = plainText(text);
  if (words.length === 0) return guide;
  const topic = words.join(" ").toLowerCase();
  // Before the first section stand the title and, with its own heading, the table of contents.
  const sections = guide.split(/\n(?=## )/).slice(2);
  const chosen = sections.filter((section) => headingOf(section).toLowerCase().includes(topic));
  if (chosen.length > 0) return chosen.map((section) => section.trimEnd()).join("\n\n");
  throw new Misuse(
    `no section of the guide is called "${words.join(" ")}"`,
    `one of: ${sections.map(headingOf).join("; ")}`,
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
      return line.startsWith("|") ? [plainRow(line)] : [withoutLinks(line)];
    })
    .join("\n");
}

const withoutLinks = (line: string): string => line.replaceAll(/\[([^[\]]+)\]\([^()]+\)/g, "$1");

/** A cell keeps its width, so that the columns stay aligned. */
const plainRow = (line: string): string =>
  line
    .split("|")
    .map((cell) => withoutLinks(cell).padEnd(cell.length))
    .join("|");
