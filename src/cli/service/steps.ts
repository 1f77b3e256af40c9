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
import { runTool } from "../../platform/systemd.ts";

/** One thing an installation consists of; done again, it changes nothing. */
export interface InstallStep {
  /** Words for what it does, in the present. */
  readonly description: string;
  readonly isDone: () => boolean;
  readonly apply: () => void | Promise<void>;
}

/** Does what is not done yet, in order, and says so; in a rehearsal it only says. */
export async function runSteps(
  steps: readonly InstallStep[],
  isRehearsal: boolean,
  say: (text: string) => void,
): Promise<void> {
  for (const { description, isDone, apply } of steps) {
    if (isDone()) {
      say(`  kept   ${description}`);
      continue;
    }
    if (!isRehearsal) await apply();
    say(`  ${isRehearsal ? "would" : "done "}  ${description}`);
  }
}

/** A file with exactly this in it. What somebody may have changed since is given as `once`. */
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
    apply: () => writeFileAtomically(path, mode, (fresh) => writeFileSync(fresh, text(), { mode })),
  };
}

/** The executable, a copy of the one that runs. */
export const binaryStep = (from: string, to: string): InstallStep => ({
  description: `the executable: ${to}`,
  isDone: () => existsSync(to) && isSameFile(from, to),
  apply: () => writeFileAtomically(to, 0o755, (fresh) => copyFileSync(from, fresh)),
});

/** The version before this one; it can be installed again by running it. */
export const previousBinaryPath = (binary: string): string => `${binary}.previous`;

/** What ran when an upgrade began, until the new one is known to run. */
export const rollbackBinaryPath = (binary: string): string => `${binary}.upgrading`;

/** A folder that belongs to somebody. */
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
      // With all that is in it: it may have been copied here by root.
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
 * Written beside it and renamed: a binary that runs cannot be written over, nor half a unit read.
 * A disk that was full meanwhile is left as it was.
 */
export function writeFileAtomically(
  path: string,
  mode: number,
  write: (fresh: string) => void,
): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const fresh = `${path}.new`;
  try {
    rmSync(fresh, { force: true });
    write(fresh);
    chmodSync(fresh, mode);
    syncPath(fresh);
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
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
