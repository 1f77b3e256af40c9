import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { runTool } from "../../platform/system/systemd.ts";

/** One step of an installation; applying it again changes nothing. */
export interface InstallStep {
  /** What the step creates or does, for the printed list. */
  readonly description: string;
  readonly isDone: () => boolean;
  readonly apply: () => void | Promise<void>;
}

/** Applies the steps that are not done yet, in order, and prints each; a dry run only prints. */
export async function runSteps(
  steps: readonly InstallStep[],
  isDryRun: boolean,
  report: (text: string) => void,
): Promise<void> {
  for (const { description, isDone, apply } of steps) {
    if (isDone()) {
      report(`  kept   ${description}`);
      continue;
    }
    if (!isDryRun) await apply();
    report(`  ${isDryRun ? "to do" : "done "}  ${description}`);
  }
}

/** A file with exactly this content. `keepExisting`: an operator may have changed it. */
export function fileStep(
  what: string,
  path: string,
  text: () => string | Uint8Array,
  { mode, keepExisting = false }: { readonly mode: number; readonly keepExisting?: boolean },
): InstallStep {
  return {
    description: `${what}: ${path}`,
    isDone: () =>
      existsSync(path) && (keepExisting || readFileSync(path).equals(Buffer.from(text()))),
    apply: () =>
      writeFileAtomically(path, mode, (temporary) => writeFileSync(temporary, text(), { mode })),
  };
}

/** The executable, a copy of the running one. */
export const binaryStep = (from: string, to: string): InstallStep => ({
  description: `the executable: ${to}`,
  isDone: () => existsSync(to) && isSameFile(from, to),
  apply: () => writeFileAtomically(to, 0o755, (temporary) => copyFileSync(from, temporary)),
});

/** The previous version; running it with `service install` installs it again. */
export const previousBinaryPath = (binary: string): string => `${binary}.previous`;

/** The executable from before an upgrade, kept until the new one is known to run. */
export const rollbackBinaryPath = (binary: string): string => `${binary}.upgrading`;

/** A folder with a certain owner. */
export function folderStep(
  what: string,
  path: string,
  mode: number,
  owner: () => Owner | null,
): InstallStep {
  return {
    description: `${what}: ${path}`,
    isDone: () => existsSync(path) && statSync(path).uid === owner()?.uid,
    apply() {
      mkdirSync(path, { recursive: true, mode });
      const { uid, gid } = owner() ?? { uid: 0, gid: 0 };
      // Including its contents, which root may have copied here.
      runTool(["chown", "-R", `${uid}:${gid}`, path]);
      chmodSync(path, mode);
    },
  };
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export const isSameFile = (a: string, b: string): boolean =>
  statSync(a).size === statSync(b).size && readFileSync(a).equals(readFileSync(b));

/**
 * Writes a temporary file and renames it: a running executable cannot be overwritten, and no one
 * must read half a unit. If the disk is full, nothing changes.
 */
export function writeFileAtomically(
  path: string,
  mode: number,
  write: (temporary: string) => void,
): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const temporary = `${path}.new`;
  try {
    rmSync(temporary, { force: true });
    write(temporary);
    chmodSync(temporary, mode);
    syncPath(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncPath(dirname(path));
}

function syncPath(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
