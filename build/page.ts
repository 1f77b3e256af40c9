// Bundles the operator's page and the API documentation. Run as a script, it prints the files as
// JSON; from-sources.ts reads them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PageFiles } from "../src/platform/embedded/page-files.ts";
import { pageEntries, productionDefine, repositoryRoot, webFolder } from "./bundled-packages.ts";

export async function bundlePage(): Promise<PageFiles> {
  // The bundler's output contains paths relative to the working folder.
  process.chdir(repositoryRoot);
  const { outputs } = await Bun.build({
    entrypoints: pageEntries,
    target: "browser",
    format: "esm",
    minify: true,
    define: productionDefine,
    naming: "[name].[ext]",
  });
  const bundles = await Promise.all(
    outputs.map(async (output) => [output.path.replace("./", ""), await output.text()]),
  );
  return {
    ...(Object.fromEntries(bundles) as Omit<PageFiles, "page.html" | "docs.html" | "icon.svg">),
    "page.html": readText("page.html"),
    "docs.html": readText("docs.html"),
    "icon.svg": readText("icon.svg"),
  };
}

const readText = (name: string): string => readFileSync(join(webFolder, name), "utf8");

if (import.meta.main) process.stdout.write(JSON.stringify(await bundlePage()));
