import { onTestFinished } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** In memory where that is offered: no test here pulls a plug, and a thousand starts are quick. */
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** A real folder, gone when the test is over. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(ROOT, "berth-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a kill would leave behind: the files as they are now, in a folder nobody has locked. */
export function copyFolder(folder: string): string {
  const copy = join(tempFolder(), "data");
  cpSync(folder, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

/** Every file below a folder with its mode and bytes, to tell whether anything was touched. */
export function contentsOf(folder: string): Record<string, string> {
  const found: Record<string, string> = { ".": modeOf(folder) };
  for (const name of readdirSync(folder, { recursive: true }).map(String).toSorted()) {
    const path = join(folder, name);
    // The lock file says who had the folder last, and every process that looks has had it.
    const isEmpty = statSync(path).isDirectory() || name === "lock";
    const bytes = isEmpty ? "" : readFileSync(path).toString("latin1");
    found[name] = `${modeOf(path)} ${bytes}`;
  }
  return found;
}

export const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
