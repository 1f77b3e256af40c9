// A request for a maintenance job whose child process is suspended in the middle of its work.
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { listChildProcesses, type ServedSite } from "./served-site.ts";
import { waitUntil } from "./wait-until.ts";

interface SuspendedJob {
  readonly reply: Promise<Response>;
  /** Lets the child process continue. */
  readonly resume: () => void;
  /** Waits until the child process has ended. */
  readonly hasEnded: () => Promise<void>;
}

/**
 * Sends a request and suspends the server's child process for it as soon as `isFarEnough`. Repeats
 * the request if the child had ended by then: on a busy machine, this test may react too late.
 */
export async function startSuspendedJob(
  site: ServedSite,
  request: () => Promise<Response>,
  isFarEnough = (): boolean => true,
): Promise<SuspendedJob> {
  for (;;) {
    const reply = request();
    let isOver = false;
    const over = reply.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    const children = (): number[] => listChildProcesses(site.server.pid);
    const isRunning = (): boolean => children().length > 0 && isFarEnough();
    await waitUntil(() => isOver || isRunning(), "the child process runs");
    const [child, ...more] = children();
    expect(more).toEqual([]);
    if (child !== undefined && (await suspend(child))) {
      return { reply, resume: () => resume(child), hasEnded: () => waitForEnd(child) };
    }
    await over;
  }
}

/** Empty if the process has ended, and nothing is left of it. */
function readState(pid: number): string {
  try {
    return /^\d+ \(.*\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}

const hasProcessEnded = (pid: number): boolean => ["Z", "X", ""].includes(readState(pid));

const waitForEnd = (pid: number): Promise<void> =>
  waitUntil(() => hasProcessEnded(pid), "the child process has ended");

/** False if the process has ended. */
async function suspend(pid: number): Promise<boolean> {
  try {
    process.kill(pid, "SIGSTOP");
  } catch {
    return false;
  }
  await waitUntil(
    () => readState(pid) === "T" || hasProcessEnded(pid),
    "the process is suspended or has ended",
  );
  return readState(pid) === "T";
}

/** Does nothing if the process has ended. */
function resume(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch {
    // The process has ended.
  }
}
