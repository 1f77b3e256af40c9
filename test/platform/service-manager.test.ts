import { describe, expect, onTestFinished, test } from "bun:test";
import { dlopen, FFIType } from "bun:ffi";
import { existsSync, lstatSync, mkdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { sendDatagram } from "../../src/platform/datagram.ts";
import { ServiceManager } from "../../src/platform/service-manager.ts";
import { runOrThrow, startServer } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

const { i32, u32, i64, u64, ptr } = FFIType;

/** A socket as systemd has one: whatever was sent to it so far. */
function listenTo(path: string): () => string[] {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: [i32, i32, i32], returns: i32 },
    bind: { args: [i32, ptr, u32], returns: i32 },
    recv: { args: [i32, ptr, u64, i32], returns: i64 },
    close: { args: [i32], returns: i32 },
  });
  const name = Buffer.from(path.replace(/^@/, "\0"));
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), name]);
  const fd = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
  if (symbols.bind(fd, address, address.length) !== 0) throw new Error(`no socket at ${path}`);
  onTestFinished(() => void symbols.close(fd));
  const heard: string[] = [];
  return () => {
    const buffer = Buffer.alloc(4_096);
    for (;;) {
      const length = Number(symbols.recv(fd, buffer, buffer.length, MSG_DONTWAIT));
      if (length < 0) return heard;
      heard.push(buffer.toString("utf8", 0, length));
    }
  };
}

const abstract = (): string => `@berth-test-${crypto.randomUUID()}`;

describe.skipIf(process.platform !== "linux")("what is told to the service manager", () => {
  test.each(["a path", "an abstract name"])("arrives at %s", (which) => {
    const path = which === "a path" ? join(tempFolder(), "notify") : abstract();
    const heard = listenTo(path);
    expect(sendDatagram(path, "READY=1\nSTATUS=serving")).toBe(true);
    expect(heard()).toEqual(["READY=1\nSTATUS=serving"]);
  });

  test("where nobody listens is lost, and that is all", () => {
    expect(sendDatagram(join(tempFolder(), "nobody"), "READY=1")).toBe(false);
    expect(sendDatagram(abstract(), "READY=1")).toBe(false);
    expect(sendDatagram(`/${"x".repeat(200)}`, "READY=1")).toBe(false);
  });

  test("is not waited with: a service manager that does not read holds nobody up", () => {
    const path = abstract();
    listenTo(path);
    const sent = Array.from({ length: 2_000 }, () => sendDatagram(path, "WATCHDOG=1"));
    expect([sent[0], sent.at(-1)]).toEqual([true, false]);
  });

  test("the watchdog is fed twice as often as it must be, until the end", async () => {
    const path = abstract();
    const heard = listenTo(path);
    const manager = new ServiceManager({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "100000" });
    expect(heard()).toEqual([]);
    manager.notifyReady("serving on http://x");
    expect(heard()).toEqual(["READY=1\nSTATUS=serving on http://x"]);
    // As often as any other timer of half the time fires here, however busy the machine is.
    const turns: true[] = [];
    const others = setInterval(() => turns.push(true), 50);
    const feedings = (): number => heard().filter((word) => word === "WATCHDOG=1").length;
    while (turns.length < 10) await Bun.sleep(10);
    clearInterval(others);
    expect(feedings()).toBeGreaterThanOrEqual(8);
    manager.notifyStopping();
    const before = feedings();
    while (feedings() === before) await Bun.sleep(10);
    const words = heard();
    expect(words.slice(words.indexOf("STOPPING=1\nSTATUS=stopping"))).toContain("WATCHDOG=1");
    manager.stopWatchdog();
    const told = heard().length;
    await Bun.sleep(200);
    expect(heard().length).toBe(told);
  });

  test("a watchdog that is another process's is not fed, nor one that nobody asked for", async () => {
    const path = abstract();
    const heard = listenTo(path);
    const other = { WATCHDOG_USEC: "20000", WATCHDOG_PID: String(process.pid + 1) };
    for (const more of [other, {}, { WATCHDOG_USEC: "0" }, { WATCHDOG_USEC: "x" }]) {
      new ServiceManager({ NOTIFY_SOCKET: path, ...more }).notifyReady("x");
    }
    await Bun.sleep(100);
    expect(heard()).toEqual(Array.from({ length: 4 }, () => "READY=1\nSTATUS=x"));
    expect(() => new ServiceManager({}).notifyReady("x")).not.toThrow();
    expect(() => new ServiceManager({ NOTIFY_SOCKET: "" }).notifyReady("x")).not.toThrow();
  });

  test("a server says when it is ready, that it lives, and that it stops", async () => {
    const path = abstract();
    const heard = listenTo(path);
    // The queue holds but a few, and a busy machine takes its time.
    const reading = setInterval(heard, 10);
    onTestFinished(() => clearInterval(reading));
    const data = join(tempFolder(), "data");
    const env = { NOTIFY_SOCKET: path, WATCHDOG_USEC: "2000000" };
    const server = await startServer(["serve", "--data", data], { env });
    while (!heard().includes("WATCHDOG=1")) await Bun.sleep(10);
    expect((await server.stop()).code).toBe(0);
    const words = heard();
    expect(words[0]).toBe(`READY=1\nSTATUS=serving on ${server.url}`);
    expect(words).toContain("WATCHDOG=1");
    expect(words).toContain("STOPPING=1\nSTATUS=stopping");
  });
});

test("the socket is where the service manager wants it, and the data folder points there", async () => {
  const folder = tempFolder();
  const [data, runtime] = [join(folder, "data"), join(folder, "run")];
  mkdirSync(runtime, { mode: 0o700 });
  const server = await startServer(["serve", "--data", data], {
    env: { RUNTIME_DIRECTORY: runtime },
  });
  const link = join(data, "berth.sock");
  expect(readlinkSync(link)).toBe(join(runtime, "berth.sock"));
  expect(lstatSync(join(runtime, "berth.sock")).mode & 0o777).toBe(0o600);
  // The command line has no such variable.
  expect(await runOrThrow(["status", "--data", data])).toContain(`served by process ${server.pid}`);
  expect((await server.stop()).code).toBe(0);
  expect([existsSync(link), existsSync(join(runtime, "berth.sock"))]).toEqual([false, false]);
  expect(await runOrThrow(["status", "--data", data])).toContain("no server is running");
});
