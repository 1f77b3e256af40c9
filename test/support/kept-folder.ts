// Folders that take long to make and that no test changes: root file systems, virtual environments.
// They are kept in the user's cache for later runs.
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { flock } from "../../src/platform/files/flock.ts";

const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "berth-test");

/**
 * The folder for a purpose, made unless an earlier run has made it from the same `inputs`. `make`
 * gets the path of a folder that does not exist yet, and throws if it cannot make it.
 */
export function keepFolder(
  purpose: string,
  inputs: string,
  make: (folder: string) => void,
): string {
  const folder = join(CACHE, `${purpose}-${Bun.hash(inputs).toString(16)}`);
  const complete = `${folder}.complete`;
  mkdirSync(CACHE, { recursive: true });
  const lock = openSync(`${folder}.lock`, "w");
  try {
    while (!flock(lock)) Bun.sleepSync(100);
    if (existsSync(complete)) return folder;
    // Of a run that was stopped.
    rmSync(folder, { recursive: true, force: true });
    make(folder);
    writeFileSync(complete, "");
  } finally {
    closeSync(lock);
  }
  return folder;
}
