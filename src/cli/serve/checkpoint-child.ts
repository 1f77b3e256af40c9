import { join } from "node:path";
import { realDisk } from "../../platform/disk.ts";
import { selfCommand } from "../../platform/version.ts";
import { CheckpointHung } from "../../store/checkpoint/checkpoint-runner.ts";
import { AUDIT_FOLDER, listSegments, STATE_FILE } from "../../store/folder/files.ts";
import { AuditDamaged } from "../../store/folder/refusal.ts";
import { EXIT_NEEDS_OPERATOR } from "../frame/command.ts";

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
  { keepMonths, command = selfCommand, limits = LIMITS }: ChildOptions,
): Promise<void> {
  const numbers = [openSegment, keepMonths, process.pid].map(String);
  const child = Bun.spawn([...command, "checkpoint", folder, ...numbers], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const exit = Promise.all([child.exited, new Response(child.stderr).text()]);
  const silence = await waitForExit(exit, folder, stopping, limits);
  if (silence !== null) {
    child.kill("SIGKILL");
    const isKilled = (await Promise.race([exit, Bun.sleep(limits.killTimeout)])) !== undefined;
    const time = `${Math.ceil(silence / SECOND)} s`;
    throw new CheckpointHung(
      `the checkpoint process (${child.pid}) made no progress for ${time} and ${isKilled ? "was killed" : "cannot be killed"}`,
    );
  }
  const [code, stderr] = await exit;
  if (code === EXIT_NEEDS_OPERATOR) throw new AuditDamaged(...parseRefusal(stderr));
  if (code !== 0)
    throw new Error(lastError(stderr) ?? `the checkpoint process exited with code ${code}`);
}

/** Null: the process exited; else for how many milliseconds it has written nothing. */
async function waitForExit(
  exit: Promise<unknown>,
  folder: string,
  stopping: AbortSignal,
  limits: ChildLimits,
): Promise<number | null> {
  const toRead = bytesToRead(folder);
  let written = bytesWritten(folder) ?? 0;
  // Counts polls, not the time: after a suspend of the machine the process does not look hung.
  for (let silence = 0; ; silence += limits.pollInterval) {
    const hasExited = (await Promise.race([exit, Bun.sleep(limits.pollInterval)])) !== undefined;
    if (hasExited) return null;
    const now = bytesWritten(folder) ?? written;
    if (now !== written) silence = 0;
    written = now;
    const limit = stopping.aborted ? limits.maxSilenceWhileStopping : limits.maxSilence;
    if (silence >= limit(toRead)) return silence;
  }
}

const sizeOf = (path: string): number => realDisk.stat(path)?.size ?? 0;

const bytesToRead = (folder: string): number =>
  listSegments(realDisk, folder).reduce(
    (sum, { path }) => sum + sizeOf(path),
    sizeOf(join(folder, STATE_FILE)),
  );

/** Null: unknown for now. An error here must not end the supervision of the process. */
function bytesWritten(folder: string): number | null {
  try {
    const auditFiles = realDisk
      .list(join(folder, AUDIT_FOLDER))
      .map((name) => join(AUDIT_FOLDER, name));
    const names = [`${STATE_FILE}.new`, ...auditFiles];
    return names.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  } catch {
    return null;
  }
}

/** The error and the hint that a command printed. */
function parseRefusal(stderr: string): [message: string, hint: string] {
  const readLine = (label: string): string =>
    new RegExp(`^berth: ${label}: (.*)$`, "m").exec(stderr)?.[1] ?? "";
  return [readLine("error"), readLine("hint")];
}

const ERROR = /^berth: error: (.*)$/gm;

/** The last error that the process printed, without the hint, which is meant for a terminal. */
const lastError = (stderr: string): string | null =>
  [...stderr.matchAll(ERROR)].at(-1)?.[1] ?? (stderr.trim() || null);
