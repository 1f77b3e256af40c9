import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyEdit, readSources, type SourceEdit } from "./source-edits.ts";

export const repositoryRoot = join(import.meta.dir, "..", "..");

/** The files that a copy of the sources needs to be compiled, besides its packages. */
export const compileInputs: readonly string[] = [
  "src",
  ...new Bun.Glob("build/*.ts").scanSync(repositoryRoot),
  "package.json",
  "tsconfig.json",
  "bun.lock",
];

/** Copies these paths of the repository, with edits; the copy uses the packages installed here. */
export function copySources(
  copy: string,
  paths: readonly string[],
  edits: readonly SourceEdit[],
): void {
  for (const path of paths)
    cpSync(join(repositoryRoot, path), join(copy, path), { recursive: true });
  symlinkSync(join(repositoryRoot, "node_modules"), join(copy, "node_modules"));
  const sources = readSources(copy);
  for (const edit of edits) {
    const { path, text } = applyEdit(sources, edit);
    sources.set(path, text);
    writeFileSync(join(copy, path), text);
  }
}
