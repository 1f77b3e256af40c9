// Stops a checkpoint process, kills its server and starts the next one. The checkpoint is stopped
// while it works with its lock, or before it has taken the lock, so that the next server cannot
// detect it. In both cases it must not change the folder of the next server.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { CHECKPOINT_LOCK_FILE } from "../../../src/store/folder/files.ts";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { PATIENCE } from "../../support/patience.ts";
import type { KillServers } from "./kill-servers.ts";
import type { KillResults } from "./results.ts";
import type { ServerProcess } from "../shared/server-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

export async function checkLateCheckpoints(
  times: number,
  servers: KillServers,
  results: KillResults,
): Promise<void> {
  await servers.create({ product: "cad", slots: 1_000, timeoutMinutes: 24 * 60 });
  const deadline = performance.now() + times * PATIENCE;
  while (
    results.killsByPoint.late < times &&
    !results.hasViolations &&
    performance.now() < deadline
  ) {
    const n = results.killsByPoint.late + 1;
    results.context = `late checkpoint ${n}`;
    const first = servers.start();
    const { folder } = first;
    await register(first);
    first.terminate();
    const checkpoint = await findCheckpoint(first);
    // Every second checkpoint may continue until it has its lock.
    if (checkpoint !== null && n % 2 === 0) waitForLock(folder, checkpoint);
    if (checkpoint !== null) sendSignal(checkpoint, "SIGSTOP");
    first.kill("server");
    const { code } = await first.exited;
    // Some checkpoints end before they can be stopped.
    if (checkpoint === null || code !== null) continue;
    const lockState = readLockState(folder, checkpoint);
    if (lockState === "locked without pid") {
      sendSignal(checkpoint, "SIGKILL");
      continue;
    }
    results.killsByPoint.late += 1;
    const second = servers.start();
    try {
      await checkNextServer(second, checkpoint, lockState === "locked", results);
    } catch (error) {
      results.recordViolation("starts", String(error));
    } finally {
      sendSignal(checkpoint, "SIGKILL");
      second.kill("group");
      await second.exited;
    }
  }
}

/** The next server: its folder must not change, and its own checkpoint must succeed. */
async function checkNextServer(
  second: ServerProcess,
  checkpoint: number,
  holdsLock: boolean,
  results: KillResults,
): Promise<void> {
  const statePath = join(second.folder, "state.json");
  await register(second);
  if (holdsLock && isAlive(checkpoint)) {
    return results.recordViolation(
      "orphans",
      "the next server is ready while the old checkpoint still has its lock",
    );
  }
  const before = readFileSync(statePath, "utf8");
  sendSignal(checkpoint, "SIGCONT");
  await waitUntil(() => !isAlive(checkpoint));
  if (readFileSync(statePath, "utf8") !== before) {
    results.recordViolation(
      "orphans",
      "the old checkpoint replaced state.json under the next server",
    );
  }
  const response = await fetch(`${second.url}/api/admin/v1/registrations`, { keepalive: false });
  const shownCount = ((await response.json()) as readonly object[]).length;
  second.terminate();
  const { code, stderr } = await second.exited;
  const storedCount = (JSON.parse(readFileSync(statePath, "utf8")) as Snapshot).registrations
    .length;
  if (code === 0 && storedCount === shownCount) return;
  results.recordViolation(
    "stops",
    `the stop exited with code ${code} and stored ${storedCount} of ${shownCount} registrations: ${stderr}`,
  );
}

/** Sends a signal to a process that may have exited. */
function sendSignal(pid: number, signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
  if (!isAlive(pid)) return;
  try {
    process.kill(pid, signal);
  } catch {
    // It exited after the check.
  }
}

/**
 * `locked without pid`: the checkpoint was stopped between taking its lock and writing its pid.
 * Such a case is not used, because in practice that state lasts only an instant.
 */
function readLockState(
  folder: string,
  checkpoint: number,
): "locked" | "unlocked" | "locked without pid" {
  const lock = realDisk.lock(join(folder, CHECKPOINT_LOCK_FILE));
  lock?.release();
  if (lock !== null) return "unlocked";
  return readLockNote(folder) === String(checkpoint) ? "locked" : "locked without pid";
}

const readLockNote = (folder: string): string =>
  readFileSync(join(folder, CHECKPOINT_LOCK_FILE), "utf8");

/** A busy loop, because the checkpoint takes only a few milliseconds. */
function waitForLock(folder: string, checkpoint: number): void {
  while (isAlive(checkpoint) && readLockNote(folder) !== String(checkpoint));
}

/** Makes a change, so that there is something to checkpoint. */
async function register(server: ServerProcess): Promise<void> {
  if (!(await server.ready)) throw new Error((await server.exited).stderr);
  const response = await fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user: `user-${server.pid}` }),
    keepalive: false,
  });
  if (response.status !== 200) throw new Error(await response.text());
}

/** The pid of the checkpoint that this server started; null if the server exited without one. */
async function findCheckpoint(server: ServerProcess): Promise<number | null> {
  let pid: number | undefined;
  await waitUntil(
    () => {
      pid = listChildren(server.pid).find(isCheckpoint);
      return pid !== undefined || server.hasExited();
    },
    "a checkpoint process",
    // It runs for a short time.
    { maxPause: 1 },
  );
  return pid ?? null;
}

function listChildren(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const children = threads.map((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"),
    );
    return children.join(" ").trim().split(/\s+/).map(Number);
  } catch {
    return [];
  }
}

/**
 * False until the child has called exec: before, it is a copy of its parent with the parent's
 * locks.
 */
function isCheckpoint(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1] === "checkpoint";
  } catch {
    return false;
  }
}

/** A zombie, whose exit status is not read yet, counts as exited. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
