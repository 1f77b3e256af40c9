import { libc } from "./libc.ts";

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Takes the exclusive lock on an open file without waiting; false when another holds it. */
export function flock(fd: number): boolean {
  return libc().flock(fd, LOCK_EX | LOCK_NB) === 0;
}
