// A server's checkpoints as somebody outside sees them: a new segment, a process, its end.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { listSegments, STATE_FILE } from "../../src/store/files.ts";

export interface ObservedCheckpoint {
  /** By the wall clock, in milliseconds. */
  readonly begin: number;
  readonly end: number;
  /** What `state.json` holds now. */
  readonly bytes: number;
  /** The most its process ever had in memory. */
  readonly mib: number;
}

const STEP = 3;
const PATIENCE = 5 * 60_000;

/** Waits for the server's next checkpoint, and for its end. */
export async function waitForCheckpoint(
  server: number,
  folder: string,
): Promise<ObservedCheckpoint> {
  const child = await until(() => findChild(server));
  // It starts with a new segment, before there is a process.
  const begin = statSync(listSegments(realDisk, folder).at(-1)?.path ?? "").birthtimeMs;
  let mib = 0;
  await until(() => {
    mib = readPeakMemory(child) ?? mib;
    return findChild(server) === null ? true : null;
  });
  return { begin, end: Date.now(), bytes: statSync(join(folder, STATE_FILE)).size, mib };
}

/** The most a process ever had in memory; null when it is gone. */
export function readPeakMemory(pid: number): number | null {
  try {
    const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? null : Number(kib) / 1024;
  } catch {
    return null;
  }
}

/** A checkpoint that is being made; null: none. */
export function findChild(pid: number): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children === "" ? null : Number(children.split(" ")[0]);
}

async function until<T>(found: () => T | null): Promise<T> {
  const started = Date.now();
  for (;;) {
    const value = found();
    if (value !== null) return value;
    if (Date.now() - started > PATIENCE) throw new Error("no checkpoint began or ended in time");
    await Bun.sleep(STEP);
  }
}

/** The kind of file system a path is on. */
export function findFileSystem(path: string): string {
  let [found, name] = ["", "unknown"];
  for (const line of readFileSync("/proc/self/mounts", "utf8").split("\n")) {
    const [, mounted = "", type = ""] = line.split(" ");
    const holds = path === mounted || path.startsWith(mounted === "/" ? "/" : `${mounted}/`);
    if (holds && mounted.length >= found.length) [found, name] = [mounted, type];
  }
  return name;
}
