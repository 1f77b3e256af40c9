import { readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";

const LOW_PRIORITY = 10;
/** With the unit's -500 for the server, its other processes count like those of other programs. */
const OOM_SCORE_DIFFERENCE = 500;
const MAX_OOM_SCORE = 1_000;

/**
 * Lowers the priority of a process that works beside a server; 0 is this one. Requests have
 * priority over all other work. A process whose priority is lower already keeps it: only root may
 * raise one.
 */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, LOW_PRIORITY);
  } catch {
    // The work is done all the same, and requests are only slower.
  }
  sacrificeBeforeServer(pid);
}

/** If memory runs out, the kernel kills this process before the server, from which it inherits. */
export function sacrificeBeforeServer(pid: number): void {
  const path = `/proc/${pid === 0 ? "self" : pid}/oom_score_adj`;
  try {
    const score = Number(readFileSync(path, "utf8")) + OOM_SCORE_DIFFERENCE;
    writeFileSync(path, String(Math.min(MAX_OOM_SCORE, score)));
  } catch {
    // Not Linux, or the process has ended.
  }
}
