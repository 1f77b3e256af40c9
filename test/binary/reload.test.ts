// SIGHUP asks a server to read its certificate again. Whatever state the server is in, the signal
// must not end it: service managers send it on every "reload".
import { describe, expect, onTestFinished, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { buildBinary, type ServerProcess } from "../support/binary.ts";
import { RunningSite } from "../support/running-site.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

async function openTlsSite(): Promise<RunningSite> {
  const site = await RunningSite.open();
  expect((await site.runCommand(["tls", "init"])).code).toBe(0);
  await site.restart(["--listen-tls", "0.0.0.0:0"]);
  return site;
}

const SITES = [
  ["without TLS", () => RunningSite.open(), "nothing to reload"],
  ["with TLS", openTlsSite, "certificate reloaded"],
] as const;

/** Sends a request with an incomplete body: a stop waits for it. The result completes the body. */
async function sendUnfinishedRequest(running: ServerProcess): Promise<() => void> {
  const { hostname, port } = new URL(running.url);
  const socket = connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  const head = `POST /api/v4/register HTTP/1.1\r\nHost: ${hostname}\r\n`;
  const rest = `Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{"user"`;
  await new Promise((written) => void socket.write(head + rest, written));
  // The server reads the bytes above before it answers this request.
  await fetch(`${running.url}/api/v4/health`);
  return () => void socket.write(`:"ada"}`);
}

describe.each(SITES)("SIGHUP to a server %s", (_name, open, expected) => {
  test("writes a log line, and the server continues", async () => {
    const site = await open();
    for (let round = 1; round <= 3; round += 1) {
      site.server.signal("SIGHUP");
      expect((await site.waitForLogLines(round)).at(-1)).toMatchObject({
        level: "info",
        message: expect.stringContaining(expected),
      });
      expect((await site.get("/api/v4/health")).status).toBe(200);
    }
    expect(await site.server.stop()).toBe(0);
  });

  test("during a stop neither ends it early nor changes its exit code", async () => {
    const site = await open();
    const finish = await sendUnfinishedRequest(site.server);
    site.server.signal("SIGTERM");
    // During the whole stop.
    const signals = setInterval(() => site.server.signal("SIGHUP"), 5);
    onTestFinished(() => clearInterval(signals));
    await waitUntil(
      () => site.server.stderr().includes("reload ignored: the server is stopping"),
      "the log line",
    );
    finish();
    expect(await site.server.exited).toBe(0);
  });
});

test("SIGHUP to a server in a terminal reloads it, and closing the terminal stops it", async () => {
  const folder = join(tempFolder(), "data");
  let output = "";
  const child = Bun.spawn([buildBinary(), "serve", "--data", folder, "--listen", "127.0.0.1:0"], {
    cwd: "/",
    env: {},
    terminal: { data: (_terminal, bytes) => void (output += Buffer.from(bytes).toString()) },
  });
  onTestFinished(() => child.kill("SIGKILL"));
  await waitUntil(() => /^ready\r?$/m.test(output), "ready");
  child.kill("SIGHUP");
  await waitUntil(() => output.includes("nothing to reload"), "the log line");
  child.terminal?.close();
  // The same exit code as after SIGTERM.
  expect(await child.exited).toBe(0);
});
