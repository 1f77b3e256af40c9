import { closeSync, openSync } from "node:fs";
import { constants } from "node:os";
import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

/** `SIG_IGN`, which is the first member of `struct sigaction` on every system. */
const IGNORED = 1n;
/** More than the structure has on any system. */
const SIGACTION_BYTES = 512;

/**
 * Whether a signal from the terminal reaches this process and its children alike: its process group
 * is in the foreground. False also where there is no terminal, or no job control.
 */
export function isInForeground(): boolean {
  if (process.platform === "win32") return false;
  try {
    const terminal = openSync("/dev/tty", "r");
    try {
      return libc().tcgetpgrp(terminal) === libc().getpgrp();
    } finally {
      closeSync(terminal);
    }
  } catch {
    return false;
  }
}

/** Whether this process was started with the signal ignored, as by `nohup`. */
export function isIgnored(signal: NodeJS.Signals): boolean {
  if (process.platform === "win32") return false;
  const action = Buffer.alloc(SIGACTION_BYTES);
  try {
    const result = libc().sigaction(constants.signals[signal], null, ptr(action));
    return result === 0 && action.readBigUInt64LE(0) === IGNORED;
  } catch {
    // No C library could be loaded.
    return false;
  }
}
