import { join } from "node:path";

/** The files that browsers request, by name. */
export type PageFiles = Readonly<Record<PageFile, string>>;

export type PageFile =
  "page.html" | "page.js" | "page.css" | "docs.html" | "docs.js" | "docs.css" | "icon.svg";

/** JSON of the bundled files, set by the build; undefined when run from the sources. */
declare const BERTH_PAGE: string | undefined;

let files: Promise<PageFiles> | null = null;

/** When run from the sources, the first request builds the files as the build does. */
export const pageFiles = (): Promise<PageFiles> =>
  (files ??= typeof BERTH_PAGE === "string" ? parsePageFiles(BERTH_PAGE) : buildPageFiles());

const parsePageFiles = async (text: string): Promise<PageFiles> => JSON.parse(text) as PageFiles;

async function buildPageFiles(): Promise<PageFiles> {
  const script = join(import.meta.dir, "..", "..", "build", "page.ts");
  const child = Bun.spawn([process.execPath, script], { stdin: "ignore", stderr: "pipe" });
  const [text, errorText] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(errorText);
  return parsePageFiles(text);
}
