import { join } from "node:path";

export const root = join(import.meta.dir, "..", "..");

/** What a copy of the sources needs to be compiled, besides its packages. */
export const compiledFrom: readonly string[] = [
  "src",
  ...new Bun.Glob("build/*.ts").scanSync(root),
  "package.json",
  "tsconfig.json",
  "bun.lock",
];
