// Collects the third-party notices. Run as a script, it prints them as JSON;
// from-sources.ts reads them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Notices } from "../src/platform/embedded/notices.ts";
import { findBundledPackages, repositoryRoot, type BundledPackage } from "./bundled-packages.ts";
import { BUN_VERSION } from "./targets.ts";

/** The runtime's packages contain no license text; the documentation of the same version does. */
const BUN_LICENSE_FILE = join(
  repositoryRoot,
  "node_modules",
  "bun-types",
  "docs",
  "project",
  "license.mdx",
);

export function collectNotices(packages: readonly BundledPackage[]): Notices {
  const statement = readFileSync(BUN_LICENSE_FILE, "utf8").replace(/^---\n[\s\S]*?\n---\n/, "");
  return {
    runtime: { name: "bun", version: BUN_VERSION, license: "MIT", text: statement.trim() },
    packages: packages.map(({ name, version, license, text }) => ({
      name,
      version,
      license,
      text,
    })),
  };
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(collectNotices(await findBundledPackages()))}\n`);
}
