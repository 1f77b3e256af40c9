import { join } from "node:path";

export const repositoryRoot = join(import.meta.dir, "..", "..");

/** The files that a copy of the sources needs to be compiled, besides its packages. */
export const compileInputs: readonly string[] = [
  "src",
  ...new Bun.Glob("build/*.ts").scanSync(repositoryRoot),
  "package.json",
  "tsconfig.json",
  "bun.lock",
];
