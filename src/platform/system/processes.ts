import { readFileSync } from "node:fs";
import { errorCode } from "../files/system-error.ts";

/** Kills a process immediately; no error if it has already ended. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

/** Whether a process of any user runs. A zombie does not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false;
  }
  return !isZombie(pid);
}

/** Whether a process is a zombie: it keeps its id until its parent reads the exit status. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Processor time that a process has used, in ticks of the system; null: it is not known. */
export function readProcessorTicks(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS]);
  } catch {
    return null;
  }
}

/** Positions after the name. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

const MAX_COMMAND_LENGTH = 200;

/** "process 4711 (berth serve --data /srv/berth)", as far as it is readable. */
export function describeProcess(pid: number | null): string {
  if (pid === null) return "another process";
  try {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    // Another user may have chosen this text: it must not contain line breaks or fill the screen.
    const command = commandLine
      .replaceAll(/\p{Cc}+/gu, " ")
      .trim()
      .slice(0, MAX_COMMAND_LENGTH);
    return command === "" ? `process ${pid}` : `process ${pid} (${command})`;
  } catch {
    return `process ${pid}`;
  }
}
