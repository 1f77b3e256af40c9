import { readFileSync } from "node:fs";
import { errorCode } from "./disk.ts";

/** Ends a process at once; one that is gone already is fine. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

/** Is there such a process, whoever it belongs to? One that has ended is none. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false;
  }
  return !hasEnded(pid);
}

/** A process keeps its number until its parent has asked how it ended. */
function hasEnded(pid: number): boolean {
  try {
    return /^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const LONGEST_LINE = 200;

/** "process 4711 (berth serve --data /srv/berth)", as far as it can be told. */
export function describeProcess(pid: number | null): string {
  if (pid === null) return "another process";
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    // Another user chose these words: they must not begin a line of their own, or fill the screen.
    const line = words
      .replaceAll(/\p{Cc}+/gu, " ")
      .trim()
      .slice(0, LONGEST_LINE);
    return line === "" ? `process ${pid}` : `process ${pid} (${line})`;
  } catch {
    return `process ${pid}`;
  }
}
