// Runs before every `bun test`, and imports nothing that must be installed first. In a fresh clone
// the resolver has already cached that there are no packages, so installing them is not enough: the
// tests start again in a new process, and this one passes on its exit code.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");

if (!existsSync(join(root, "node_modules", "elysia"))) {
  const stdio = ["inherit", "inherit", "inherit"] as const;
  const run = (...command: string[]): number =>
    Bun.spawnSync([process.execPath, ...command], { stdio: [...stdio] }).exitCode;
  const installCode = run("install", "--frozen-lockfile", "--silent", `--cwd=${root}`);
  process.exit(installCode === 0 ? run(...readArguments()) : installCode);
}

/** `process.argv` contains the test file here, not the original arguments; the kernel has those. */
function readArguments(): string[] {
  const path = "/proc/self/cmdline";
  if (!existsSync(path)) return ["test"];
  return readFileSync(path, "utf8").split("\0").slice(1, -1);
}
