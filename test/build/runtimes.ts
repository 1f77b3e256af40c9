// Builds with a runtime that cannot be downloaded or has the wrong hash.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TARGETS } from "../../build/targets.ts";
import { NO_NETWORK, type BuildResult, type SourceClone } from "./source-clone.ts";

const findTarget = (wanted: string) => {
  const target = TARGETS.find(({ name }) => name === wanted);
  if (target === undefined) throw new Error(`there is no target ${wanted}`);
  return target;
};

/** The npm package with the runtime of a target. */
export const packageOf = (target: string): string => findTarget(target).package;

/** A build without the registry: the runtime of one target is not cached. */
export function buildWithoutRuntime(
  clone: SourceClone,
  missing: string,
  cache: { readonly BUN_INSTALL_CACHE_DIR: string },
): BuildResult {
  const [scope = "", name = ""] = packageOf(missing).split("/");
  const folder = join(cache.BUN_INSTALL_CACHE_DIR, scope);
  for (const entry of readdirSync(folder)) {
    if (entry === name || entry.startsWith(`${name}@`))
      rmSync(join(folder, entry), { recursive: true });
  }
  return clone.build(["--all"], { ...cache, ...NO_NETWORK });
}

/** A build whose pinned hash does not match the package of the registry. */
export function buildWithWrongRuntime(clone: SourceClone, wanted: string): BuildResult {
  const path = join(clone.folder, "build", "targets.ts");
  const text = readFileSync(path, "utf8");
  const { integrity } = findTarget(wanted);
  const other = integrity.replace(/^sha512-..../, "sha512-AAAA");
  writeFileSync(
    path,
    text.replace(integrity, () => other),
  );
  const env = { BUN_INSTALL_CACHE_DIR: join(clone.folder, "cache") };
  return clone.build(["--target", wanted], env);
}
