// A program that poses as the database server, and wants the password.
import { describe, expect, onTestFinished, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { openSession } from "../../../../src/store/log/postgres/log-session.ts";
import { parseLogUrl } from "../../../../src/store/log/postgres/log-url.ts";

const PASSWORD = "hunter2-database";

/** `NoticeResponse`, which a server may send first. */
const NOTICE = Buffer.from([0x4e, 0, 0, 0, 5, 0]);

const requestOf = (method: number): Buffer => Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, method]);

const PLAIN = 3;
const ACCEPTED = 0;

/** Starts a server that answers each connection with these chunks, and records what it gets. */
async function startServer(chunks: readonly Buffer[]) {
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", async () => {
      for (const chunk of chunks) {
        socket.write(chunk);
        await Bun.sleep(5);
      }
    });
    socket.on("data", (data) => received.push(Buffer.from(data)));
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return { port: address.port, received: () => Buffer.concat(received).toString("latin1") };
}

async function open(port: number): Promise<unknown> {
  const url = parseLogUrl(`postgres://berth@127.0.0.1:${port}/berth?sslmode=disable`);
  if ("message" in url) throw new Error(url.message);
  const aborter = new AbortController();
  onTestFinished(() => aborter.abort());
  return openSession(
    { url, readPassword: () => PASSWORD, name: "test" },
    { host: "127.0.0.1", port },
    aborter.signal,
  ).then(
    () => "connected",
    (error: unknown) => error,
  );
}

describe("a server that requests the password as plain text without a checked certificate", () => {
  test.each<[string, readonly Buffer[]]>([
    ["at once", [requestOf(PLAIN)]],
    ["after a notice", [Buffer.concat([NOTICE, requestOf(PLAIN)])]],
    ["byte by byte", [...requestOf(PLAIN)].map((byte) => Buffer.of(byte))],
  ])("does not get it: %s", async (_name, chunks) => {
    const { port, received } = await startServer(chunks);
    expect(String(await open(port))).toContain("requests the password as plain text");
    await Bun.sleep(50);
    expect(received()).toContain("user\0berth");
    expect(received()).not.toContain(PASSWORD);
  });

  test("gets it neither if it accepts the connection first, and requests it later", async () => {
    const { port, received } = await startServer([requestOf(ACCEPTED), requestOf(PLAIN)]);
    const attempt = open(port);
    await Bun.sleep(100);
    expect(received()).not.toContain(PASSWORD);
    void attempt;
  });
});
