// A checkpoint that outlives its server, caught at two moments: at work, with its lock, and before it
// has begun, without one, so that the next server cannot know of it. Either way the folder is the
// next server's alone.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/disk.ts";
import { CHECKPOINT_LOCK_FILE } from "../../../src/store/files.ts";
import type { Snapshot } from "../../../src/store/snapshot.ts";
import { PATIENCE } from "../../support/patience.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import type { KillResults } from "./results.ts";
import { startServer, type ServerProcess } from "../shared/server-process.ts";

export async function checkLateCheckpoints(
  times: number,
  root: string,
  port: number,
  figures: KillResults,
): Promise<void> {
  const folder = join(root, "late");
  await makeLicensedSite(folder, { product: "cad", slots: 1_000, timeoutMinutes: 24 * 60 });
  const deadline = performance.now() + times * PATIENCE;
  while (
    figures.killsByPoint.late < times &&
    !figures.hasViolations &&
    performance.now() < deadline
  ) {
    const n = figures.killsByPoint.late + 1;
    figures.context = `late checkpoint ${n}`;
    const first = startServer(folder, port);
    await register(first);
    first.terminate();
    const checkpoint = await checkpointOf(first);
    // Every second one is let go until it holds its lock.
    if (checkpoint !== null && n % 2 === 0) untilHeld(folder, checkpoint);
    if (checkpoint !== null) signal(checkpoint, "SIGSTOP");
    first.kill("server");
    const { code } = await first.exited;
    // Some are done before they can be caught.
    if (checkpoint === null || code !== null) continue;
    const holds = lockOf(folder, checkpoint);
    if (holds === "unsaid") {
      signal(checkpoint, "SIGKILL");
      continue;
    }
    figures.killsByPoint.late += 1;
    const second = startServer(folder, port);
    try {
      await succeed(folder, second, checkpoint, holds === "yes", figures);
    } catch (error) {
      figures.recordViolation("starts", String(error));
    } finally {
      signal(checkpoint, "SIGKILL");
      second.kill("group");
      await second.exited;
    }
  }
}

/** The next server: nothing changes under it, and its own checkpoint is in nobody's way. */
async function succeed(
  folder: string,
  second: ServerProcess,
  checkpoint: number,
  holdsLock: boolean,
  figures: KillResults,
): Promise<void> {
  const state = join(folder, "state.json");
  await register(second);
  if (holdsLock && isAlive(checkpoint)) {
    return figures.recordViolation(
      "orphans",
      "the next server serves beside one that has its lock",
    );
  }
  const before = readFileSync(state, "utf8");
  signal(checkpoint, "SIGCONT");
  await until(() => !isAlive(checkpoint));
  if (readFileSync(state, "utf8") !== before) {
    figures.recordViolation("orphans", "state.json was replaced under the next server");
  }
  const response = await fetch(`${second.url}/api/admin/v1/registrations`, { keepalive: false });
  const shown = ((await response.json()) as readonly object[]).length;
  second.terminate();
  const { code, stderr } = await second.exited;
  const kept = (JSON.parse(readFileSync(state, "utf8")) as Snapshot).registrations.length;
  if (code === 0 && kept === shown) return;
  figures.recordViolation("stops", `code ${code}, ${kept} of ${shown} are kept: ${stderr}`);
}

/** To one that may be gone by now. */
function signal(pid: number, what: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
  if (!isAlive(pid)) return;
  try {
    process.kill(pid, what);
  } catch {
    // In between.
  }
}

/** Stopped between taking its lock and saying so, it would draw out what is an instant. */
function lockOf(folder: string, checkpoint: number): "yes" | "no" | "unsaid" {
  const lock = realDisk.lock(join(folder, CHECKPOINT_LOCK_FILE));
  lock?.release();
  if (lock !== null) return "no";
  return noteOf(folder) === String(checkpoint) ? "yes" : "unsaid";
}

const noteOf = (folder: string): string => readFileSync(join(folder, CHECKPOINT_LOCK_FILE), "utf8");

/** Without a pause: the work is done in a few milliseconds. */
function untilHeld(folder: string, checkpoint: number): void {
  while (isAlive(checkpoint) && noteOf(folder) !== String(checkpoint));
}

/** Something to fold. */
async function register(served: ServerProcess): Promise<void> {
  if (!(await served.ready)) throw new Error((await served.exited).stderr);
  const response = await fetch(`${served.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user: `user-${served.pid}` }),
    keepalive: false,
  });
  if (response.status !== 200) throw new Error(await response.text());
}

/** The pid of the checkpoint this server started; null when it ended without. */
async function checkpointOf(served: ServerProcess): Promise<number | null> {
  let found: number | undefined;
  await until(() => {
    found = childrenOf(served.pid).find(isCheckpoint);
    return found !== undefined || served.hasExited();
  });
  return found ?? null;
}

function childrenOf(pid: number): number[] {
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

/** Not before it is one: a child that is still its parent's copy holds what its parent holds. */
function isCheckpoint(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1] === "checkpoint";
  } catch {
    return false;
  }
}

/** A zombie that nobody has asked after is gone all the same. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function until(met: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!met()) {
    if (performance.now() > deadline) throw new Error("it does not come");
    await Bun.sleep(1);
  }
}
