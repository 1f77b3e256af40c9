// What the executable must say about the work of others. As a script it prints that as JSON, for a
// Berth that runs from its sources.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Notices } from "../src/platform/notices.ts";
import { bundledPackages, root, type Package } from "./bundled.ts";
import { BUN } from "./targets.ts";

/** The runtime's packages carry no license text; the documentation of the same version does. */
const STATEMENT = join(root, "node_modules", "bun-types", "docs", "project", "license.mdx");

export function noticesOf(packages: readonly Package[]): Notices {
  const statement = readFileSync(STATEMENT, "utf8").replace(/^---\n[\s\S]*?\n---\n/, "");
  return {
    runtime: { name: "bun", version: BUN, license: "MIT", text: statement.trim() },
    packages: packages.map(({ name, version, license, text }) => ({
      name,
      version,
      license,
      text,
    })),
  };
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(noticesOf(await bundledPackages()))}\n`);
}
