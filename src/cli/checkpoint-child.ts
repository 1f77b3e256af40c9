import { join } from "node:path";
import { realDisk } from "../platform/disk.ts";
import { selfCommand } from "../platform/version.ts";
import { CheckpointHung } from "../store/checkpoint-runner.ts";
import { AUDIT_FOLDER, listSegments, STATE_FILE } from "../store/files.ts";
import { AuditDamaged } from "../store/refusal.ts";
import { EXIT_NEEDS_OPERATOR } from "./command.ts";

/** In milliseconds. */
export interface ChildLimits {
  /** How long it may write nothing, by how much there is to read; then it hangs. */
  readonly maxSilence: (bytes: number) => number;
  /** The same when somebody waits for the server to end. */
  readonly maxSilenceWhileStopping: (bytes: number) => number;
  /** Between two looks at what it wrote. */
  readonly pollInterval: number;
  /** Until one that was killed should be gone. */
  readonly killTimeout: number;
}

const SECOND = 1_000;
const MIB = 1024 * 1024;

/** It reads a hundred times as fast, and writes in parts of a mebibyte: far from any that works. */
const readingTime = (bytes: number): number => (bytes / MIB) * SECOND;

const LIMITS: ChildLimits = {
  maxSilence: (bytes) => 600 * SECOND + readingTime(bytes),
  maxSilenceWhileStopping: (bytes) => 20 * SECOND + readingTime(bytes),
  pollInterval: SECOND,
  killTimeout: 5 * SECOND,
};

export interface ChildOptions {
  /** How many months of the record to keep besides the current one; 0: all of it. */
  readonly keepMonths: number;
  readonly command?: readonly string[];
  readonly limits?: ChildLimits;
}

/**
 * Folding needs the whole state a second time in memory: a process of its own gives it all back.
 * One that hangs is ended: nothing is lost by it, and the journal would grow for ever.
 */
export async function checkpointInChild(
  folder: string,
  open: number,
  stopping: AbortSignal,
  { keepMonths, command = selfCommand, limits = LIMITS }: ChildOptions,
): Promise<void> {
  const words = ["checkpoint", folder, String(open), String(keepMonths), String(process.pid)];
  const child = Bun.spawn([...command, ...words], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const ended = Promise.all([child.exited, new Response(child.stderr).text()]);
  const silent = await waitForExit(ended, folder, stopping, limits);
  if (silent !== null) {
    child.kill("SIGKILL");
    const isGone = (await Promise.race([ended, Bun.sleep(limits.killTimeout)])) !== undefined;
    const time = `${Math.ceil(silent / SECOND)} s`;
    throw new CheckpointHung(
      `the checkpoint process (${child.pid}) made no progress for ${time} and ${isGone ? "was killed" : "cannot be killed"}`,
    );
  }
  const [code, complaint] = await ended;
  if (code === EXIT_NEEDS_OPERATOR) throw new AuditDamaged(...parseRefusal(complaint));
  if (code !== 0)
    throw new Error(lastError(complaint) ?? `the checkpoint process exited with code ${code}`);
}

/** Null when it has; else for how long it has written nothing. */
async function waitForExit(
  ended: Promise<unknown>,
  folder: string,
  stopping: AbortSignal,
  limits: ChildLimits,
): Promise<number | null> {
  const toRead = bytesToRead(folder);
  let written = bytesWritten(folder) ?? 0;
  // Looks are counted, not the time: a machine that slept is not a process that hangs.
  for (let silent = 0; ; silent += limits.pollInterval) {
    const isEnded = (await Promise.race([ended, Bun.sleep(limits.pollInterval)])) !== undefined;
    if (isEnded) return null;
    const now = bytesWritten(folder) ?? written;
    if (now !== written) silent = 0;
    written = now;
    const limit = stopping.aborted ? limits.maxSilenceWhileStopping : limits.maxSilence;
    if (silent >= limit(toRead)) return silent;
  }
}

const sizeOf = (path: string): number => realDisk.stat(path)?.size ?? 0;

const bytesToRead = (folder: string): number =>
  listSegments(realDisk, folder).reduce(
    (sum, { path }) => sum + sizeOf(path),
    sizeOf(join(folder, STATE_FILE)),
  );

/** Null when it cannot be told now: that must not leave the process without anybody to watch it. */
function bytesWritten(folder: string): number | null {
  try {
    const record = realDisk
      .list(join(folder, AUDIT_FOLDER))
      .map((name) => join(AUDIT_FOLDER, name));
    const names = [`${STATE_FILE}.new`, ...record];
    return names.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  } catch {
    return null;
  }
}

/** What a command said when it refused, and what it said would help. */
function parseRefusal(complaint: string): [message: string, hint: string] {
  const said = (what: string): string =>
    new RegExp(`^berth: ${what}: (.*)$`, "m").exec(complaint)?.[1] ?? "";
  return [said("error"), said("hint")];
}

const ERROR = /^berth: error: (.*)$/gm;

/** As the process says it, without the advice, which is for a terminal. */
const lastError = (complaint: string): string | null =>
  [...complaint.matchAll(ERROR)].at(-1)?.[1] ?? (complaint.trim() || null);
