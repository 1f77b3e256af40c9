// Runs before every `bun test`, and imports nothing that has to be installed first. In a fresh clone
// the resolver has already seen that no packages are there by the time this runs, so installing them
// is not enough: the tests are started over, and this process only passes on how they went.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");

if (!existsSync(join(root, "node_modules", "elysia"))) {
  const stdio = ["inherit", "inherit", "inherit"] as const;
  const run = (...command: string[]): number =>
    Bun.spawnSync([process.execPath, ...command], { stdio: [...stdio] }).exitCode;
  const installed = run("install", "--frozen-lockfile", "--silent", `--cwd=${root}`);
  process.exit(installed === 0 ? run(...givenArguments()) : installed);
}

/** `process.argv` names the test file here, not what was typed; the kernel still knows. */
function givenArguments(): string[] {
  const typed = "/proc/self/cmdline";
  if (!existsSync(typed)) return ["test"];
  return readFileSync(typed, "utf8").split("\0").slice(1, -1);
}
