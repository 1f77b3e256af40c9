import { chmodSync, copyFileSync } from "node:fs";
import { basename, join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

export const isRoot = process.getuid?.() === 0;

/** Prefix of a command line that runs it as an unprivileged user. Needs root. */
export const AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

export const canRunAsNobody = isRoot && Bun.which("setpriv") !== null;

/** Copies a program, which may be in a private folder, so that every user can run it. */
export function copyForEveryUser(program: string): string {
  const folder = tempFolder();
  chmodSync(folder, 0o755);
  const copy = join(folder, basename(program));
  copyFileSync(program, copy);
  chmodSync(copy, 0o755);
  return copy;
}
