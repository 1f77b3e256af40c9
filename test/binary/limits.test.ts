import { expect, onTestFinished, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { RunningSite } from "../support/running-site.ts";
import { PATIENCE } from "../support/patience.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

const REGISTER = "/api/v4/register";

function sendOnNewSocket(port: string, bytes: string): Socket {
  const socket = connect(Number(port), "127.0.0.1", () => socket.write(bytes));
  socket.on("error", () => {});
  return socket;
}

test("a request that is too large, too deep, unknown or of a wrong type gets status, code and message", async () => {
  const site = await RunningSite.open();
  const nested = (depth: number): object => (depth === 0 ? {} : { x: nested(depth - 1) });
  const keys = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, ""]));
  const url = `http://127.0.0.1:${site.port}`;
  const cases: [Promise<Response>, number, string][] = [
    [site.post(REGISTER, { user: "x".repeat(70_000) }), 413, "too_large"],
    [site.post(REGISTER, nested(9)), 400, "too_complex"],
    [site.post(REGISTER, keys), 400, "too_complex"],
    [site.post(REGISTER, { user: "x".repeat(257) }), 400, "too_long"],
    [site.post("/api/v4/nowhere", {}), 404, "not_found"],
    [site.get("/"), 200, ""],
    [site.get("/.."), 200, ""],
    [site.get("/api/v4/registe%72"), 404, "not_found"],
    [site.get(REGISTER), 405, "method_not_allowed"],
    [fetch(`${url}${REGISTER}`, { method: "PUT" }), 405, "method_not_allowed"],
    [fetch(`${url}${REGISTER}`, { method: "POST" }), 415, "unsupported_media_type"],
    [
      fetch(`${url}${REGISTER}`, { method: "POST", body: new FormData() }),
      415,
      "unsupported_media_type",
    ],
  ];
  for (const [reply, status, code] of cases) {
    const response = await reply;
    expect(response.status).toBe(status);
    if (status === 200) continue;
    const body: unknown = await response.json();
    expect(body).toMatchObject({ status, code, message: expect.stringMatching(/./) });
  }
});

/** The status line of the reply. */
function askOn(socket: Socket, head: string, body = ""): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.once("data", (data) => resolve(data.toString("latin1").split("\r\n", 1)[0] ?? ""));
  socket.write(`${head} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`);
  socket.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
  return promise;
}

test("a server without free file descriptors serves its open connections, and others when one is free", async () => {
  const folder = join(tempFolder(), "data");
  const command = [buildBinary(), "serve", "--data", folder, "--listen", "127.0.0.1:0"];
  const child = Bun.spawn(["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", ...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    env: {},
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  let banner = "";
  const reader = child.stdout.getReader();
  while (!banner.includes("ready\n")) {
    banner += new TextDecoder().decode((await reader.read()).value);
  }
  const url = /http:\/\/[\d.]+:\d+/.exec(banner)?.[0] ?? "";
  const kept = sendOnNewSocket(new URL(url).port, "");
  // The networks of this machine are listed for the first request that is admitted: not for this.
  expect(await askOn(kept, "GET /nowhere")).toContain(" 404 ");
  const sockets = Array.from({ length: 100 }, () =>
    sendOnNewSocket(new URL(url).port, "GET / HTTP/1.1\r\n"),
  );
  const countOpenFiles = (): number => readdirSync(`/proc/${child.pid}/fd`).length;
  if (process.platform === "linux")
    await waitUntil(() => countOpenFiles() >= 64, "no file descriptor is free");
  expect(await askOn(kept, "GET /api/v4/health")).toContain(" 200 ");
  const body = JSON.stringify({ changes: { site_name: "Plant 4" } });
  expect(await askOn(kept, "POST /api/admin/v1/settings", body)).toContain(" 200 ");
  for (const socket of [kept, ...sockets]) socket.destroy();
  const answer = await fetch(`${url}/api/v4/license/generate`, {
    method: "POST",
    signal: AbortSignal.timeout(PATIENCE),
  });
  expect(answer.status).toBe(200);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});
