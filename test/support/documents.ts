// The documents, read as their readers use them.
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./sources.ts";
import { tempFolder } from "./temp-folder.ts";

/** Every Markdown file of the repository, by its path. */
export const documentPaths = ["*.md", "{src,test,build}/**/*.md"]
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(repositoryRoot)])
  .filter((path) => !path.includes("node_modules") && !path.startsWith("build/out/"))
  .toSorted();

export const readDocument = (path: string): string =>
  readFileSync(join(repositoryRoot, path), "utf8");

export interface CodeBlock {
  readonly document: string;
  /** Of the first line of code. */
  readonly line: number;
  readonly text: string;
}

/** The code blocks of one language in every document. */
export const codeBlocksIn = (language: string): CodeBlock[] =>
  documentPaths.flatMap((document) => {
    const text = readDocument(document);
    return [
      ...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, "gm")),
    ].map((match) => ({
      document,
      line: text.slice(0, match.index).split("\n").length + 1,
      text: match[1] ?? "",
    }));
  });

/** The rows of the tables below a heading, up to the next heading, without header rows. */
export function tableRowsBelow(path: string, heading: string): string[][] {
  const lines = readDocument(path).split("\n");
  const start = lines.indexOf(heading);
  if (start === -1) throw new Error(`${path} has no heading "${heading}"`);
  const end = lines.findIndex((line, index) => index > start && /^#+ /.test(line));
  return lines
    .slice(start, end === -1 ? undefined : end)
    .filter((line, index, all) => line.startsWith("|") && all[index - 1]?.startsWith("|") === true)
    .filter((line) => !/^\|[\s|:-]+$/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** The code between backticks within a line, without code blocks. */
export const codeIn = (text: string): string[] =>
  [...text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "").matchAll(/`([^`\n]+)`/g)].map(
    ([, code = ""]) => code,
  );

export type LeaseCheck = (input: object) => Promise<{ readonly sub: string; readonly exp: number }>;

/** The files that the two examples are saved as. */
const EXAMPLES = { checkLease: "check-lease.mjs", checkLeaseByCode: "check-lease-by-code.mjs" };

/** Imports an example of src/http/README.md, beside the library that it imports. */
export async function loadLeaseCheck(
  name: keyof typeof EXAMPLES,
  folder = tempFolder(),
): Promise<LeaseCheck> {
  const blocks = codeBlocksIn("js").map(({ text }) => text);
  symlinkSync(join(repositoryRoot, "node_modules"), join(folder, "node_modules"));
  for (const [example, file] of Object.entries(EXAMPLES)) {
    const lines = blocks.find((block) => block.includes(`function ${example}(`)) ?? "";
    writeFileSync(join(folder, file), lines);
  }
  const module = (await import(join(folder, EXAMPLES[name]))) as Record<string, LeaseCheck>;
  const example = module[name];
  if (example === undefined) throw new Error(`the documents have no ${name}`);
  return example;
}
