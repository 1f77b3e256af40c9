import { closeSync, openSync } from "node:fs";
import { constants } from "node:os";

/** The start of a process takes the most: pipes for its streams, and a handle of it. */
const SIZE = 8;

/** Zero in a command: only a server has connections. */
let size = 0;
/** Open files that only occupy the descriptors. */
const reserved: number[] = [];

/**
 * From now on, keeps file descriptors that connections cannot take: a server without a free one can
 * still write checkpoints and save settings.
 */
export function reserveDescriptors(): void {
  if (process.platform !== "win32") size = SIZE;
  refillReserve();
}

/** Called after a file was closed, before a connection can take its descriptor. */
export function refillReserve(): void {
  try {
    while (reserved.length < size) reserved.push(openSync("/dev/null", "r"));
  } catch {
    // As many as there are; the next file that is closed leaves one more.
  }
}

/**
 * Runs an operation that opens files; without a free descriptor, once more with the reserve. The
 * operation must not wait for anything: connections would take what it has given back.
 */
export function withReserve<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!isOutOfDescriptors(error) || reserved.length === 0) throw error;
    for (const descriptor of reserved.splice(0)) closeSync(descriptor);
    try {
      return open();
    } finally {
      refillReserve();
    }
  }
}

/** By the number, which not every function of the runtime makes negative. */
const isOutOfDescriptors = (error: unknown): boolean =>
  error instanceof Error &&
  "errno" in error &&
  Math.abs(Number(error.errno)) === constants.errno.EMFILE;
