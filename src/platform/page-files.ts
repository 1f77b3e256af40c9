import { join } from "node:path";

/** Everything a browser asks for, by name. */
export type PageFiles = Readonly<Record<PageFile, string>>;

export type PageFile =
  "page.html" | "page.js" | "page.css" | "docs.html" | "docs.js" | "docs.css" | "icon.svg";

/** JSON, set by the build of what it bundled; not there when run from the sources. */
declare const BERTH_PAGE: string | undefined;

let files: Promise<PageFiles> | null = null;

/** From the sources they are made as the build would make them, when somebody first asks. */
export const pageFiles = (): Promise<PageFiles> =>
  (files ??= typeof BERTH_PAGE === "string" ? parsePageFiles(BERTH_PAGE) : buildPageFiles());

const parsePageFiles = async (text: string): Promise<PageFiles> => JSON.parse(text) as PageFiles;

async function buildPageFiles(): Promise<PageFiles> {
  const maker = join(import.meta.dir, "..", "..", "build", "page.ts");
  const child = Bun.spawn([process.execPath, maker], { stdin: "ignore", stderr: "pipe" });
  const [text, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(complaint);
  return parsePageFiles(text);
}
