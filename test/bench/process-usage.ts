// What processes used, as the kernel reports it.
import { readFileSync } from "node:fs";

export interface ProcessUsage {
  /** Processor time in milliseconds. */
  readonly cpu: number;
  /** Processor time of child processes that have ended, in milliseconds. */
  readonly childCpu: number;
  /** Bytes written to disk. */
  readonly written: number;
}

/** Milliseconds of a kernel clock tick: Linux always reports hundredths of a second. */
const TICK = 10;

/** The sum of these processes since their start; NaN if it cannot be read. */
export function readUsage(pids: readonly number[]): ProcessUsage {
  const usages = pids.map(readOneUsage);
  const sum = (pick: keyof ProcessUsage): number =>
    usages.length === 0 ? NaN : usages.reduce((total, usage) => total + usage[pick], 0);
  return { cpu: sum("cpu"), childCpu: sum("childCpu"), written: sum("written") };
}

function readOneUsage(pid: number): ProcessUsage {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The fields after the name, which may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = (first: number): number => Number(fields[first]) + Number(fields[first + 1]);
  const io = readOrEmpty(`/proc/${pid}/io`);
  return {
    // User and system time.
    cpu: ticks(11) * TICK,
    childCpu: ticks(13) * TICK,
    written: Number(/^write_bytes: (\d+)/m.exec(io)?.[1]),
  };
}

/** Empty: the process has ended, or belongs to another user. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
