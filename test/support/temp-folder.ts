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

/** In memory if possible: these tests simulate no power loss, and it makes many starts fast. */
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Registers a cleanup: for the end of the test, if nothing else is said. */
export type AtEnd = (cleanup: () => void | Promise<void>) => void;

/** Creates a real folder, which is removed at the end. */
export function tempFolder(atEnd: AtEnd = onTestFinished): string {
  const folder = mkdtempSync(join(ROOT, "berth-test-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Copies a folder as a killed process would leave it: the current files, and no lock held. */
export function copyFolder(folder: string): string {
  const copy = join(tempFolder(), "data");
  cpSync(folder, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

/** Mode and bytes of every file in a folder, to detect any change. */
export function contentsOf(folder: string): Record<string, string> {
  const contents: Record<string, string> = { ".": modeOf(folder) };
  for (const name of readdirSync(folder, { recursive: true }).map(String).toSorted()) {
    const path = join(folder, name);
    // The content of the lock file is ignored: every process that opens the folder rewrites it.
    const isEmpty = statSync(path).isDirectory() || name === "lock";
    const bytes = isEmpty ? "" : readFileSync(path).toString("latin1");
    contents[name] = `${modeOf(path)} ${bytes}`;
  }
  return contents;
}

export const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
