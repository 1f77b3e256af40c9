// Checks how a build handles a runtime that cannot be downloaded or has the wrong hash.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TARGETS } from "../../build/targets.ts";
import { check } from "../support/suite-harness.ts";
import { NO_NETWORK, type SourceClone } from "./source-clone.ts";

const findTarget = (wanted: string) => {
  const target = TARGETS.find(({ name }) => name === wanted);
  if (target === undefined) throw new Error(`there is no target ${wanted}`);
  return target;
};

/** Without the registry, only the executable whose runtime is not cached cannot be built. */
export function checkMissingRuntime(
  clone: SourceClone,
  missing: string,
  cache: { readonly BUN_INSTALL_CACHE_DIR: string },
): void {
  const [scope = "", name = ""] = findTarget(missing).package.split("/");
  const folder = join(cache.BUN_INSTALL_CACHE_DIR, scope);
  for (const entry of readdirSync(folder)) {
    if (entry === name || entry.startsWith(`${name}@`))
      rmSync(join(folder, entry), { recursive: true });
  }
  const { code, stderr } = clone.build(["--all"], { ...cache, ...NO_NETWORK });
  const pattern =
    /^build: error: no runtime for (\S+): .+\nbuild: hint: (\S+) comes from the npm registry.+\n$/;
  const reported = pattern.exec(stderr)?.slice(1) ?? [];
  const expected = [missing, findTarget(missing).package];
  check(
    "a runtime that cannot be downloaded causes one error and a hint",
    Bun.deepEquals(reported, expected),
    {
      code,
      stderr,
    },
  );
  const executables = [...clone.checksums().keys()].filter((file) => !/\.(?:json|txt)$/.test(file));
  const isBuilt = code === 1 && executables.length === TARGETS.length - 1;
  check("the other executables are built, and the exit code is 1", isBuilt, { code, executables });
}

/** A package of the registry that does not match the pinned hash is refused. */
export function checkWrongRuntime(clone: SourceClone, wanted: string): void {
  const path = join(clone.folder, "build", "targets.ts");
  const text = readFileSync(path, "utf8");
  const { integrity } = findTarget(wanted);
  const other = integrity.replace(/^sha512-..../, "sha512-AAAA");
  writeFileSync(
    path,
    text.replace(integrity, () => other),
  );
  const env = { BUN_INSTALL_CACHE_DIR: join(clone.folder, "cache") };
  const { code, stderr } = clone.build(["--target", wanted], env);
  const isRefused = code === 1 && /no runtime for .*integrity/i.test(stderr);
  check("a runtime that does not match its pinned hash is refused", isRefused, { code, stderr });
}
