import { ASSETS_PATH, pageFiles, type PageFile } from "../../platform/embedded/page-files.ts";
import { hashOf, serveText, type ServedFile } from "./served-file.ts";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Browsers cache these without asking again: a changed file gets another name. */
const ASSETS: readonly PageFile[] = ["page.js", "page.css", "docs.js", "docs.css", "icon.svg"];

let assetNames: ReadonlyMap<PageFile, string> | null = null;
let assets: ReadonlyMap<string, ServedFile> | null = null;

/** By file; made with the first request, because most processes serve no page. */
const namesByFile = (): ReadonlyMap<PageFile, string> =>
  (assetNames ??= new Map(ASSETS.map((name) => [name, hashedName(name)])));

/** The asset with this name; undefined: there is none, perhaps since an upgrade. */
export const findAsset = (name: string): ServedFile | undefined =>
  (assets ??= new Map([
    ...[...namesByFile()].map(
      ([file, hashed]) => [hashed, servePageFile(file, pageFiles()[file])] as const,
    ),
    ...Object.entries(pageFiles().chunks).map(
      ([chunk, text]) => [chunk, servePageFile(chunk, text)] as const,
    ),
  ])).get(name);

/** For example `page-3f786850e3.js`. */
function hashedName(file: PageFile): string {
  const [name = "", extension = ""] = file.split(".");
  return `${name}-${hashOf(pageFiles()[file])}.${extension}`;
}

const servePageFile = (file: string, text: string): ServedFile =>
  serveText(TYPES[file.split(".")[1] ?? ""] ?? "", text);

/** What the server writes into the head of a page, by the name of the meta element. */
export type PageValues = Readonly<Record<`berth-${string}`, string>>;

const PLACEHOLDER = /<meta name="(berth-[a-z]+)" content="" \/>/g;
const REFERENCE = /\b(src|href)="\/([a-z]+\.[a-z]+)"/g;

const rendered = new Map<string, ServedFile>();
const MAX_RENDERED = 8;

/** A page with these values; rendered once for each set of values. */
export function renderPage(file: "page.html" | "docs.html", values: PageValues): ServedFile {
  const key = JSON.stringify([file, values]);
  const known = rendered.get(key);
  if (known !== undefined) return known;
  const names = namesByFile();
  const { [file]: source } = pageFiles();
  const html = source
    .replaceAll(
      PLACEHOLDER,
      (_, name: `berth-${string}`) =>
        `<meta name="${name}" content="${escapeHtml(values[name] ?? "")}" />`,
    )
    .replaceAll(REFERENCE, (reference, attribute: string, name: string) => {
      const hashed = names.get(name as PageFile);
      return hashed === undefined ? reference : `${attribute}="${ASSETS_PATH}${hashed}"`;
    });
  const page = servePageFile(file, html);
  // An edited site name leaves its old page behind.
  if (rendered.size >= MAX_RENDERED) rendered.clear();
  rendered.set(key, page);
  return page;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For the text of an element, or the value of an attribute in quotes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
