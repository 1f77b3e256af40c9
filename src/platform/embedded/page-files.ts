/** The files that browsers request, by name. */
export interface PageFiles extends Readonly<Record<PageFile, string>> {
  /**
   * Scripts that the page loads later, or beside its own: by the name under `ASSETS_PATH`, which
   * changes with the build.
   */
  readonly chunks: Readonly<Record<string, string>>;
}

export type PageFile =
  "page.html" | "page.js" | "page.css" | "docs.html" | "docs.js" | "docs.css" | "icon.svg";

/** Where browsers find the files whose names contain a hash. */
export const ASSETS_PATH = "/assets/";

/** JSON of the bundled files. The build sets it; run from the sources, a preloaded script does. */
declare const BERTH_PAGE: string | undefined;

let files: PageFiles | null = null;

export const pageFiles = (): PageFiles => (files ??= parsePageFiles());

function parsePageFiles(): PageFiles {
  if (typeof BERTH_PAGE !== "string")
    throw new Error("the pages are missing: run the sources in their own folder");
  return JSON.parse(BERTH_PAGE) as PageFiles;
}
