import { libc } from "../system/libc.ts";

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Takes the exclusive lock of an open file without waiting; false when another process has it. */
export function flock(fd: number): boolean {
  return libc().flock(fd, LOCK_EX | LOCK_NB) === 0;
}
