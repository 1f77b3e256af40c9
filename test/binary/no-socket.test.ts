// The command line reaches a running server through its socket. A server that cannot create the
// socket still serves its applications, and reports what does not work.
import { expect, onTestFinished, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  buildBinary,
  runBinary,
  startBinary,
  startProgram,
  type ServerProcess,
} from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

async function expectToServe(server: ServerProcess, socket: string): Promise<void> {
  const warning = `berth: warning: cannot create the socket ${socket} (`;
  await waitUntil(() => server.stderr().includes(warning), warning);
  expect(server.stderr()).toContain("berth status, berth slots, berth license");
  const response = await fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user: "ada" }),
  });
  expect(response.status).toBe(200);
}

test("a server starts without its socket when a folder has the socket's name", async () => {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad" });
  const socket = join(folder, "berth.sock");
  mkdirSync(socket);
  writeFileSync(join(socket, "file"), "");
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0");
  onTestFinished(() => server.kill());
  await expectToServe(server, socket);
  // A command names the process that uses the folder.
  const status = await runBinary(["status", "--data", folder]);
  expect([status.code, status.stderr]).toEqual([
    1,
    expect.stringContaining(`is in use by process ${server.pid} (`),
  ]);
  expect(status.stderr).toContain(`hint: that server does not answer on ${socket}: `);
  expect(await server.stop()).toBe(0);
});

const MOUNT_NAMESPACE = ["unshare", "--map-root-user", "--mount", "sh", "-euc"];

const canMount =
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...MOUNT_NAMESPACE, "mount -t tmpfs -o nr_inodes=40 none /tmp"]).success;

test.skipIf(!canMount)(
  "a server starts without its socket on a disk without free inodes",
  async () => {
    const folder = join(tempFolder(), "data");
    await makeLicensedSite(folder, { product: "cad" });
    const small = tempFolder();
    const script = `
    mount -t tmpfs -o size=16m,nr_inodes=40,mode=700 none "$1"
    cp -a "$2" "$1/data"
    count=0
    while touch "$1/file-$count" 2>/dev/null; do count=$((count + 1)); done
    exec "$3" serve --data "$1/data" --listen 127.0.0.1:0`;
    const command = [...MOUNT_NAMESPACE, script, "sh", small, folder, buildBinary()];
    const server = await startProgram(command);
    onTestFinished(() => server.kill());
    await expectToServe(server, join(small, "data", "berth.sock"));
    expect(server.stderr()).toContain("(ENOSPC)");
    server.signal("SIGTERM");
    await server.exited;
  },
);
