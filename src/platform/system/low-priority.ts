import { setPriority } from "node:os";

const LOW_PRIORITY = 10;

/**
 * Lowers the priority of a process; 0 is this one. Requests have priority over all other work. A
 * process whose priority is lower already keeps it: only root may raise one.
 */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, LOW_PRIORITY);
  } catch {
    // The work is done all the same, and requests are only slower.
  }
}
