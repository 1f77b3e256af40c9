import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUN_VERSION, executableSuffix, type Target } from "./targets.ts";

/** A target's runtime cannot be installed; `message` is one line. */
export class NoRuntime extends Error {
  override readonly name = "NoRuntime";
}

/**
 * Installs the runtime of one target as a package into a folder and returns the path of its
 * executable. This uses the registry, credentials and cache that are configured on this machine;
 * Bun's own download for `--target` ignores them. The lock file pins the package's hash.
 */
export function fetchRuntime(target: Target, folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const dependencies = { [target.package]: BUN_VERSION };
  const lockedPackage = [`${target.package}@${BUN_VERSION}`, "", {}, target.integrity];
  const lock = {
    lockfileVersion: 2,
    configVersion: 1,
    workspaces: { "": { dependencies } },
    packages: { [target.package]: lockedPackage },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ dependencies }));
  writeFileSync(join(folder, "bun.lock"), JSON.stringify(lock));
  const install = ["install", "--frozen-lockfile", "--ignore-scripts", "--no-progress"];
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...install], { cwd: folder });
  const path = join(
    folder,
    "node_modules",
    target.package,
    "bin",
    `bun${executableSuffix(target)}`,
  );
  if (exitCode === 0 && existsSync(path)) return path;
  const reason = /^error: (.+)$/m.exec(stderr.toString())?.[1];
  throw new NoRuntime(reason ?? `${target.package} contains no executable`);
}
