// Preloaded by bunfig.toml when Berth runs from its sources: provides what the build puts into an
// executable. Most commands and tests need none of it, so each value is made when it is first read.
import { join } from "node:path";

const SCRIPTS = { BERTH_PAGE: "page.ts", BERTH_NOTICES: "notices.ts" } as const;

/** A process of its own: the bundler is asynchronous, and changes the working folder. */
function outputOf(script: string): string {
  const child = Bun.spawnSync([process.execPath, join(import.meta.dir, script)]);
  if (child.exitCode !== 0) throw new Error(child.stderr.toString());
  return child.stdout.toString();
}

for (const [name, script] of Object.entries(SCRIPTS)) {
  let text: string | null = null;
  Object.defineProperty(globalThis, name, { get: () => (text ??= outputOf(script)) });
}
