import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { sendDatagram } from "../../../src/platform/system/datagram.ts";
import { ServiceManager } from "../../../src/platform/system/service-manager.ts";
import { openDatagramSocket } from "../../support/datagram-socket.ts";
import { runOrThrow, startServer } from "../../support/run-berth.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const makeAbstractName = (): string => `@berth-test-${crypto.randomUUID()}`;

describe.skipIf(process.platform !== "linux")("notifying the service manager", () => {
  test.each(["a path", "an abstract name"])("works with %s", (kind) => {
    const path = kind === "a path" ? join(tempFolder(), "notify") : makeAbstractName();
    const messages = openDatagramSocket(path);
    expect(sendDatagram(path, "READY=1\nSTATUS=serving")).toBe(true);
    expect(messages()).toEqual(["READY=1\nSTATUS=serving"]);
  });

  test("does nothing if the socket does not exist", () => {
    expect(sendDatagram(join(tempFolder(), "missing"), "READY=1")).toBe(false);
    expect(sendDatagram(makeAbstractName(), "READY=1")).toBe(false);
    expect(sendDatagram(`/${"x".repeat(200)}`, "READY=1")).toBe(false);
  });

  test("does not block if the service manager does not read", () => {
    const path = makeAbstractName();
    openDatagramSocket(path);
    const sent = Array.from({ length: 2_000 }, () => sendDatagram(path, "WATCHDOG=1"));
    expect([sent[0], sent.at(-1)]).toEqual([true, false]);
  });

  test("sends the watchdog message twice per interval until the watchdog is stopped", async () => {
    const path = makeAbstractName();
    const messages = openDatagramSocket(path);
    const manager = new ServiceManager({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "100000" });
    expect(messages()).toEqual([]);
    manager.notifyReady("serving on http://x");
    expect(messages()).toEqual(["READY=1\nSTATUS=serving on http://x"]);
    // Compared with another timer of half the interval, so that a busy machine does not matter.
    const ticks: true[] = [];
    const timer = setInterval(() => ticks.push(true), 50);
    const countWatchdogs = (): number =>
      messages().filter((message) => message === "WATCHDOG=1").length;
    while (ticks.length < 10) await Bun.sleep(10);
    clearInterval(timer);
    expect(countWatchdogs()).toBeGreaterThanOrEqual(8);
    manager.notifyStopping();
    const before = countWatchdogs();
    while (countWatchdogs() === before) await Bun.sleep(10);
    const sent = messages();
    expect(sent.slice(sent.indexOf("STOPPING=1\nSTATUS=stopping"))).toContain("WATCHDOG=1");
    manager.stopWatchdog();
    const total = messages().length;
    await Bun.sleep(200);
    expect(messages().length).toBe(total);
  });

  test("sends no watchdog message if it is for another process, not requested or invalid", async () => {
    const path = makeAbstractName();
    const messages = openDatagramSocket(path);
    const other = { WATCHDOG_USEC: "20000", WATCHDOG_PID: String(process.pid + 1) };
    for (const environment of [other, {}, { WATCHDOG_USEC: "0" }, { WATCHDOG_USEC: "x" }]) {
      new ServiceManager({ NOTIFY_SOCKET: path, ...environment }).notifyReady("x");
    }
    await Bun.sleep(100);
    expect(messages()).toEqual(Array.from({ length: 4 }, () => "READY=1\nSTATUS=x"));
    expect(() => new ServiceManager({}).notifyReady("x")).not.toThrow();
    expect(() => new ServiceManager({ NOTIFY_SOCKET: "" }).notifyReady("x")).not.toThrow();
  });

  test("a server reports that it is ready, alive and stopping", async () => {
    const path = makeAbstractName();
    const messages = openDatagramSocket(path);
    // The socket's queue is short, so it is read all the time.
    const timer = setInterval(messages, 10);
    onTestFinished(() => clearInterval(timer));
    const data = join(tempFolder(), "data");
    const env = { NOTIFY_SOCKET: path, WATCHDOG_USEC: "2000000" };
    const server = await startServer(["serve", "--data", data], { env });
    while (!messages().includes("WATCHDOG=1")) await Bun.sleep(10);
    expect((await server.stop()).code).toBe(0);
    const sent = messages();
    expect(sent[0]).toBe(`READY=1\nSTATUS=serving on ${server.url}`);
    expect(sent).toContain("WATCHDOG=1");
    expect(sent).toContain("STOPPING=1\nSTATUS=stopping");
  });
});

test("the admin socket is in RUNTIME_DIRECTORY, and the data folder has a link to it", async () => {
  const folder = tempFolder();
  const [data, runtime] = [join(folder, "data"), join(folder, "run")];
  mkdirSync(runtime, { mode: 0o700 });
  const server = await startServer(["serve", "--data", data], {
    env: { RUNTIME_DIRECTORY: runtime },
  });
  const link = join(data, "berth.sock");
  expect(readlinkSync(link)).toBe(join(runtime, "berth.sock"));
  expect(lstatSync(join(runtime, "berth.sock")).mode & 0o777).toBe(0o600);
  // Commands run without this variable, so they need the link.
  expect(await runOrThrow(["status", "--data", data])).toContain(`served by process ${server.pid}`);
  expect((await server.stop()).code).toBe(0);
  expect([existsSync(link), existsSync(join(runtime, "berth.sock"))]).toEqual([false, false]);
  expect(await runOrThrow(["status", "--data", data])).toContain("no server is running");
});
