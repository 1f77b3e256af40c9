// Observes the checkpoints of a server from outside: a new segment, a child process, and its end.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { listSegments, STATE_FILE } from "../../src/store/folder/files.ts";

export interface ObservedCheckpoint {
  /** By the wall clock, in milliseconds. */
  readonly begin: number;
  readonly end: number;
  /** Size of `state.json` after it. */
  readonly bytes: number;
  /** Peak memory of its process. */
  readonly mib: number;
}

const POLL_INTERVAL = 3;
const TIMEOUT = 5 * 60_000;

/** Waits for the server's next checkpoint, and for its end. */
export async function waitForCheckpoint(
  server: number,
  folder: string,
): Promise<ObservedCheckpoint> {
  const child = await waitFor(() => findChild(server));
  // A checkpoint starts with a new segment, before its process exists.
  const begin = statSync(listSegments(realDisk, folder).at(-1)?.path ?? "").birthtimeMs;
  let mib = 0;
  await waitFor(() => {
    mib = readPeakMemory(child) ?? mib;
    return findChild(server) === null ? true : null;
  });
  return { begin, end: Date.now(), bytes: statSync(join(folder, STATE_FILE)).size, mib };
}

/** Interval of the check for a running checkpoint, in ms. */
const CHECK_INTERVAL = 25;

/** Waits until no checkpoint is running. */
export async function waitForNoCheckpoint(server: number): Promise<void> {
  while (findChild(server) !== null) await Bun.sleep(CHECK_INTERVAL);
}

/** Also says whether a checkpoint ran meanwhile; its process takes a whole processor. */
export async function noticeCheckpoint<T>(
  server: number,
  work: Promise<T>,
): Promise<{ readonly value: T; readonly hadCheckpoint: boolean }> {
  let hadCheckpoint = false;
  const timer = setInterval(() => {
    hadCheckpoint ||= findChild(server) !== null;
  }, CHECK_INTERVAL);
  try {
    return { value: await work, hadCheckpoint };
  } finally {
    clearInterval(timer);
  }
}

/** Peak memory of a process in MiB; null: it has ended. */
export function readPeakMemory(pid: number): number | null {
  try {
    const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? null : Number(kib) / 1024;
  } catch {
    return null;
  }
}

/** The process of a running checkpoint; null: none. */
export function findChild(pid: number): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children === "" ? null : Number(children.split(" ")[0]);
}

async function waitFor<T>(read: () => T | null): Promise<T> {
  const started = Date.now();
  for (;;) {
    const value = read();
    if (value !== null) return value;
    if (Date.now() - started > TIMEOUT)
      throw new Error("no checkpoint began or ended within 5 minutes");
    await Bun.sleep(POLL_INTERVAL);
  }
}

/** The type of the file system that contains a path. */
export function findFileSystem(path: string): string {
  let [mountPoint, name] = ["", "unknown"];
  for (const line of readFileSync("/proc/self/mounts", "utf8").split("\n")) {
    const [, mounted = "", type = ""] = line.split(" ");
    const isInside = path === mounted || path.startsWith(mounted === "/" ? "/" : `${mounted}/`);
    if (isInside && mounted.length >= mountPoint.length) [mountPoint, name] = [mounted, type];
  }
  return name;
}
