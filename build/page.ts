// Bundles the operator's page and the API documentation. Run as a script, it prints the files as
// JSON; from-sources.ts reads them.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ASSETS_PATH, type PageFiles } from "../src/platform/embedded/page-files.ts";
import { pageEntries, productionDefine, repositoryRoot, webFolder } from "./bundled-packages.ts";

export async function bundlePage(): Promise<PageFiles> {
  // The bundler's output contains paths relative to the working folder.
  process.chdir(repositoryRoot);
  const files: Record<string, string> = {};
  const chunks: Record<string, string> = {};
  // One at a time: together, the two pages would share scripts, and each would load more files.
  for (const entry of pageEntries) {
    const bundle = await bundleEntry(entry);
    files[bundle.name] = bundle.text;
    Object.assign(chunks, bundle.chunks);
  }
  return {
    ...(files as Omit<PageFiles, "page.html" | "docs.html" | "icon.svg" | "chunks">),
    "page.html": preloadChunks(readText("page.html"), files["page.js"] ?? ""),
    "docs.html": readText("docs.html"),
    "icon.svg": readText("icon.svg"),
    chunks,
  };
}

interface Bundle {
  readonly name: string;
  readonly text: string;
  readonly chunks: Readonly<Record<string, string>>;
}

/** What a script imports with `import()` becomes a chunk, and so does what chunks share. */
async function bundleEntry(entry: string): Promise<Bundle> {
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    target: "browser",
    format: "esm",
    minify: true,
    splitting: true,
    define: productionDefine,
    naming: { entry: "[name].[ext]", chunk: "[name]-[hash].[ext]" },
  });
  const texts = new Map<string, string>();
  for (const output of outputs) texts.set(basename(output.path), await output.text());
  const [name = ""] = texts.keys();
  const newNames = nameChunks(texts);
  const renamed = new Map([...texts].map(([old, text]) => [old, renameChunks(text, newNames)]));
  return {
    name,
    text: renamed.get(name) ?? "",
    chunks: Object.fromEntries(
      [...newNames].map(([old, newName]) => [newName, renamed.get(old) ?? ""]),
    ),
  };
}

const HASH_LENGTH = 10;

/**
 * Browsers keep a chunk for a year: its name depends on the text of every script of the bundle,
 * whatever the bundler's own hash depends on.
 */
function nameChunks(texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, ...chunkNames] = texts.keys();
  const all = [...texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(
    chunkNames.map((name) => {
      const hash = createHash("sha256")
        .update(JSON.stringify([name, all]))
        .digest("hex");
      return [name, `${/^[a-z]*/.exec(name)?.[0]}-${hash.slice(0, HASH_LENGTH)}.js`];
    }),
  );
}

const renameChunks = (text: string, names: ReadonlyMap<string, string>): string =>
  [...names].reduce(
    (renamed, [old, name]) => renamed.replaceAll(`"./${old}"`, `"./${name}"`),
    text,
  );

/** Lets the browser load the chunks that the script needs at once beside it, not after it. */
function preloadChunks(html: string, script: string): string {
  const links = listStaticImports(script).map(
    (name) => `<link rel="modulepreload" href="${ASSETS_PATH}${name}" />\n    `,
  );
  return html.replace("<script ", () => `${links.join("")}<script `);
}

const listStaticImports = (script: string): string[] =>
  new Bun.Transpiler({ loader: "js" })
    .scanImports(script)
    .filter(({ kind }) => kind === "import-statement")
    .map(({ path }) => basename(path));

const readText = (name: string): string => readFileSync(join(webFolder, name), "utf8");

if (import.meta.main) process.stdout.write(JSON.stringify(await bundlePage()));
