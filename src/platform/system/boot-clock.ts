import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

const CLOCK_BOOTTIME = 7;
const timespec = new BigInt64Array(2);
const timespecPointer = process.platform === "linux" ? ptr(timespec) : null;

/**
 * Milliseconds of a clock that never jumps, and that continues while the machine sleeps. The clock
 * of the runtime stands still then.
 */
export function readBootClock(): number {
  if (timespecPointer === null) return performance.now();
  if (libc().clock_gettime(CLOCK_BOOTTIME, timespecPointer) !== 0) {
    throw new Error("the clock of the machine cannot be read");
  }
  return Number(timespec[0]) * 1_000 + Number(timespec[1]) / 1e6;
}
