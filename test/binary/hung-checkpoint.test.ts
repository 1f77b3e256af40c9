import { expect, onTestFinished, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { waitUntil } from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LISTEN = ["--listen", "127.0.0.1:0"];
const USERS = 200;
/** A checkpoint may be done before it can be caught. */
const ATTEMPTS = 100;

/** Enough for a checkpoint to take a moment. */
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

/** The pid of the checkpoint that this server started; null when the server ended without it. */
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
    const found = children.trim().split(/\s+/).map(Number).find(isCheckpoint);
    if (found !== undefined) return found;
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

/** A stop during which the checkpoint is made to hang; the code it ended with, and who hung. */
async function stopWithHungCheckpoint(
  server: ServerProcess,
): Promise<{ code: number; hung: number } | null> {
  const stopping = server.stop();
  const pid = await waitForCheckpoint(server.pid);
  try {
    if (pid !== null) process.kill(pid, "SIGSTOP");
  } catch {
    // It was done by then.
  }
  const code = await stopping;
  return pid === null || code === 0 ? null : { code, hung: pid };
}

test("a stop ends although its checkpoint hangs, says so, and nothing is lost", async () => {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: USERS });
  let caught: { code: number; hung: number } | null = null;
  for (let attempt = 0; attempt < ATTEMPTS && caught === null; attempt += 1) {
    const server = await startBinary("serve", "--data", folder, ...LISTEN);
    onTestFinished(() => server.kill());
    await registerAll(server.url);
    caught = await stopWithHungCheckpoint(server);
    if (caught === null) continue;
    expect(server.stderr()).toContain(
      `stopped, but state.json in ${folder} is not up to date: the checkpoint process (${caught.hung}) made no progress for`,
    );
    expect(server.stderr()).toContain("no acknowledged change is lost");
  }
  expect(caught?.code).toBe(1);
  // It was killed before the server ended, and is gone as soon as the system comes to it.
  await waitUntil(() => !isCheckpoint(caught?.hung ?? 0), "the end of the checkpoint that hung");
  const again = await startBinary("serve", "--data", folder, ...LISTEN);
  onTestFinished(() => again.kill());
  const slots = await fetch(`${again.url}/api/admin/v1/registrations`);
  expect((await slots.json()) as object[]).toHaveLength(USERS);
  expect(await again.stop()).toBe(0);
});
