import { expect, onTestFinished, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

const LISTEN = ["--listen", "127.0.0.1:0"];
const USERS = 200;
/** A checkpoint may end before the test can suspend it. */
const ATTEMPTS = 100;

/** Registers so many users that a checkpoint takes noticeable time. */
async function registerAll(url: string): Promise<void> {
  for (let user = 0; user < USERS; user += 1) {
    const response = await fetch(`${url}/api/v4/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user: `user-${user}`, user_info: "x".repeat(4_000) }),
    });
    expect(response.status).toBe(200);
  }
}

/** The pid of the checkpoint process of this server; null if the server ended without one. */
async function waitForCheckpoint(server: number): Promise<number | null> {
  for (;;) {
    let children: string;
    try {
      children = readdirSync(`/proc/${server}/task`)
        .map((thread) => readFileSync(`/proc/${server}/task/${thread}/children`, "utf8"))
        .join(" ");
    } catch {
      return null;
    }
    const pid = children.trim().split(/\s+/).map(Number).find(isCheckpoint);
    if (pid !== undefined) return pid;
    await Bun.sleep(1);
  }
}

function isCheckpoint(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1] === "checkpoint";
  } catch {
    return false;
  }
}

interface HungStop {
  readonly code: number;
  readonly checkpointPid: number;
}

/** Stops a server while its checkpoint process is suspended; null if it ended too early. */
async function stopWithHungCheckpoint(server: ServerProcess): Promise<HungStop | null> {
  const stopping = server.stop();
  const pid = await waitForCheckpoint(server.pid);
  try {
    if (pid !== null) process.kill(pid, "SIGSTOP");
  } catch {
    // The checkpoint had ended by then.
  }
  const code = await stopping;
  return pid === null || code === 0 ? null : { code, checkpointPid: pid };
}

test("a stop with a hung checkpoint process exits with 1, reports it and loses no acknowledged change", async () => {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: USERS });
  let hungStop: HungStop | null = null;
  for (let attempt = 0; attempt < ATTEMPTS && hungStop === null; attempt += 1) {
    const server = await startBinary("serve", "--data", folder, ...LISTEN);
    onTestFinished(() => server.kill());
    await registerAll(server.url);
    hungStop = await stopWithHungCheckpoint(server);
    if (hungStop === null) continue;
    expect(server.stderr()).toContain(
      `stopped, but state.json in ${folder} is not up to date: the checkpoint process (${hungStop.checkpointPid}) made no progress for`,
    );
    expect(server.stderr()).toContain("no acknowledged change is lost");
  }
  expect(hungStop?.code).toBe(1);
  // The server killed it before it ended; the system may need some time to remove the process.
  await waitUntil(
    () => !isCheckpoint(hungStop?.checkpointPid ?? 0),
    "the end of the hung checkpoint process",
  );
  const again = await startBinary("serve", "--data", folder, ...LISTEN);
  onTestFinished(() => again.kill());
  const slots = await fetch(`${again.url}/api/admin/v1/registrations`);
  expect((await slots.json()) as object[]).toHaveLength(USERS);
  expect(await again.stop()).toBe(0);
});
