import {
  checkpointError,
  countBytesToRead,
  countBytesWritten,
} from "../../operations/folder/checkpoint.ts";
import { envName } from "../frame/options.ts";
import { withReserve } from "../../platform/files/descriptor-reserve.ts";
import { selfCommand } from "../../platform/embedded/version.ts";
import { readProcessorTicks } from "../../platform/system/processes.ts";
import { EXIT_NEEDS_OPERATOR } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { parseJsonRefusal } from "../frame/json-refusal.ts";
import { withSystemCode } from "../frame/system-errors.ts";

/** Time limits of the checkpoint process, in milliseconds. */
export interface ChildLimits {
  /** How long it may write nothing, by the bytes it has to read; after that it counts as hung. */
  readonly maxSilence: (bytes: number) => number;
  /** The same while an operator waits for the server to stop. */
  readonly maxSilenceWhileStopping: (bytes: number) => number;
  /** Between two checks of what it wrote. */
  readonly pollInterval: number;
  /** How long to wait until a killed process has exited. */
  readonly killTimeout: number;
}

const SECOND = 1_000;
const MIB = 1024 * 1024;

/** A second per MiB: a working process reads a hundred times as fast and writes MiB by MiB. */
const readingTime = (bytes: number): number => (bytes / MIB) * SECOND;

const LIMITS: ChildLimits = {
  maxSilence: (bytes) => 600 * SECOND + readingTime(bytes),
  maxSilenceWhileStopping: (bytes) => 20 * SECOND + readingTime(bytes),
  pollInterval: SECOND,
  killTimeout: 5 * SECOND,
};

export interface ChildOptions {
  /** Months of the audit log to keep besides the current one; 0: all of it. */
  readonly keepMonths: number;
  /** Months of usage to keep besides the current one. */
  readonly usageMonths: number;
  /** Called after an update of the usage files; null: it succeeded, else why it failed. */
  readonly onUsageUpdate?: (error: string | null) => void;
  /** Called when the process has written something, or used the processor. */
  readonly noteProgress?: () => void;
  readonly command?: readonly string[];
  readonly limits?: ChildLimits;
}

/**
 * A checkpoint needs the whole state in memory a second time; a separate process frees all of it.
 * A process that hangs is killed: nothing is lost by that, and the journal would grow forever.
 */
export async function checkpointInChild(
  folder: string,
  openSegment: number,
  stopping: AbortSignal,
  options: ChildOptions,
): Promise<void> {
  const { keepMonths, usageMonths, command = selfCommand(), limits = LIMITS } = options;
  const { noteProgress = () => {} } = options;
  const numbers = [openSegment, keepMonths, usageMonths, process.pid].map(String);
  const child = withReserve(() =>
    Bun.spawn([...command, "checkpoint", folder, ...numbers], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { ...process.env, [envName(option.json)]: "true" },
    }),
  );
  const exit = Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
  const work = new WatchedWork(child.pid, noteProgress);
  const silence = await waitForExit(exit, folder, stopping, limits, work);
  if (silence !== null) {
    child.kill("SIGKILL");
    const isKilled = (await Promise.race([exit, Bun.sleep(limits.killTimeout)])) !== undefined;
    const time = `${Math.ceil(silence / SECOND)} s`;
    throw checkpointError({
      reason: "hung",
      message: `the checkpoint process (${child.pid}) made no progress for ${time} and ${isKilled ? "was killed" : "cannot be killed"}`,
    });
  }
  const [exitCode, stdout, stderr] = await exit;
  if (exitCode === 0) {
    const usageError = parseUsageError(stdout);
    if (usageError !== undefined) options.onUsageUpdate?.(usageError);
    return;
  }
  const refusal = parseJsonRefusal(stdout);
  if (refusal === null) {
    throw new Error(stderr.trim() || `the checkpoint process exited with code ${exitCode}`);
  }
  const { code, message, hint } = refusal;
  if (exitCode === EXIT_NEEDS_OPERATOR) {
    throw checkpointError({ reason: "audit_damaged", message, hint: hint ?? "" });
  }
  // Without the hint, which is meant for a terminal.
  throw new Error(withSystemCode(message, code));
}

/** What `berth checkpoint` printed about the usage files; undefined: nothing. */
function parseUsageError(stdout: string): string | null | undefined {
  try {
    const { usage_error: error } = JSON.parse(stdout) as { readonly usage_error?: unknown };
    return typeof error === "string" || error === null ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Null: the process exited; else for how many milliseconds it has written nothing. */
async function waitForExit(
  exit: Promise<unknown>,
  folder: string,
  stopping: AbortSignal,
  limits: ChildLimits,
  work: WatchedWork,
): Promise<number | null> {
  const toRead = countBytesToRead(folder);
  let written = countBytesWritten(folder) ?? 0;
  // Counts polls, not the time: after a suspend of the machine the process does not look hung.
  for (let silence = 0; ; silence += limits.pollInterval) {
    const hasExited = (await Promise.race([exit, Bun.sleep(limits.pollInterval)])) !== undefined;
    if (hasExited) return null;
    const now = countBytesWritten(folder) ?? written;
    if (now !== written) silence = 0;
    work.look(now !== written);
    written = now;
    const limit = stopping.aborted ? limits.maxSilenceWhileStopping : limits.maxSilence;
    if (silence >= limit(toRead)) return silence;
  }
}

/**
 * Whether the process does anything. A long read of a large state writes nothing, but uses the
 * processor; a process that stands still does neither.
 */
class WatchedWork {
  readonly #pid: number;
  readonly #noteProgress: () => void;
  #ticks: number | null = null;

  constructor(pid: number, noteProgress: () => void) {
    this.#pid = pid;
    this.#noteProgress = noteProgress;
  }

  look(hasWritten: boolean): void {
    const ticks = readProcessorTicks(this.#pid);
    // Not known on other systems: only the time limit counts there.
    if (hasWritten || ticks === null || ticks !== this.#ticks) this.#noteProgress();
    this.#ticks = ticks;
  }
}
