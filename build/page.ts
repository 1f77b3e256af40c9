// Bundles the operator's page and the API documentation into a few texts. As a script it prints
// them as JSON, for a Berth that runs from its sources.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PageFiles } from "../src/platform/page-files.ts";
import { pageEntries, productionDefine, repositoryRoot, webFolder } from "./bundled-packages.ts";

export async function bundlePage(): Promise<PageFiles> {
  // The bundler writes down paths as they look from the working folder.
  process.chdir(repositoryRoot);
  const { outputs } = await Bun.build({
    entrypoints: pageEntries,
    target: "browser",
    format: "esm",
    minify: true,
    define: productionDefine,
    naming: "[name].[ext]",
  });
  const built = await Promise.all(
    outputs.map(async (output) => [output.path.replace("./", ""), await output.text()]),
  );
  return {
    ...(Object.fromEntries(built) as Omit<PageFiles, "page.html" | "docs.html" | "icon.svg">),
    "page.html": readText("page.html"),
    "docs.html": readText("docs.html"),
    "icon.svg": readText("icon.svg"),
  };
}

const readText = (name: string): string => readFileSync(join(webFolder, name), "utf8");

if (import.meta.main) process.stdout.write(JSON.stringify(await bundlePage()));
