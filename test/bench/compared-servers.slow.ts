// Tests of the comparisons with other servers, all of them real processes: the baselines, peers and
// another executable of Berth.
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { measureAgainst } from "./against.ts";
import { buildBaselines } from "./baselines.ts";
import type { BenchSize } from "./bench-part.ts";
import { measurePauses } from "./collector-pauses.ts";
import { findListeningProcesses } from "./listening-processes.ts";
import { parseOptions } from "./options.ts";
import type { Peer } from "./peer-options.ts";
import { checkPeer, PeerServer } from "./peer-server.ts";
import { makePopulatedSite } from "./servers.ts";
import { measureSpeed } from "./speed.ts";

const SMALL_SIZE: BenchSize = {
  starts: 1,
  rounds: 1,
  seconds: 0.1,
  warmUpAnswers: 1,
  connections: [16],
  registrations: [],
  checkpoints: [],
  stalls: { holders: 1, auditLines: 1, secondsPerCall: 1 },
  deskStatements: [],
};

/** A server of this process, and the options that name it. */
function servePeer(fetch: (count: number) => Response, ...args: readonly string[]) {
  let count = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      await request.bytes();
      count += 1;
      return fetch(count);
    },
  });
  const options = ["--peer", `stub=${server.url.origin}/beat`, ...args];
  const [peer] = parseOptions(options).peers as [Peer];
  return { peer, options, [Symbol.dispose]: () => void server.stop(true) };
}

/** The answer in two chunks. */
const chunkedAnswer = (): Response =>
  new Response(
    new ReadableStream({
      async start(controller) {
        controller.enqueue("one");
        await Bun.sleep(1);
        controller.enqueue("two");
        controller.close();
      },
    }),
    { status: 201 },
  );

describe("a peer", () => {
  test.each([
    ["200", () => new Response("ok")],
    ["201 and chunks", chunkedAnswer],
    ["204 and no body", () => new Response(null, { status: 204 })],
  ])("that answers %s is measured without errors", async (_case, fetch) => {
    using stub = servePeer(fetch);
    await checkPeer(stub.peer);
    const server = new PeerServer(stub.peer, 100);
    const result = await server.run({ kind: "heartbeat", connections: 8, seconds: 0.1 });
    expect(server.wrong).toEqual([]);
    expect(result.answered).toBeGreaterThan(0);
    // NaN: the process was not found.
    expect(result.cpu).not.toBeNaN();
  });

  test("that answers an error later makes its figures invalid", async () => {
    using stub = servePeer((count) => new Response("", { status: count > 50 ? 503 : 200 }));
    await checkPeer(stub.peer);
    const server = new PeerServer(stub.peer, 100);
    await server.run({ kind: "heartbeat", connections: 8, seconds: 0.1 });
    expect(server.wrong).toEqual(["heartbeat at 8 connections, peer stub: 8 times status 503"]);
  });

  test.each([
    ["answers 404", { status: 404 }, "answered 404: no"],
    ["redirects", { status: 302 }, "answered 302: no"],
    [
      "closes the connection",
      { headers: { connection: "close" } },
      "the server closes the connection after each answer",
    ],
  ])("that %s is refused before anything is measured", async (_case, init, reason) => {
    using stub = servePeer(() => new Response("no", init), "--peer-method", "PUT");
    const { code, stderr } = await runBench("--part", "speed", ...stub.options);
    expect(stderr).toBe(`bench: error: peer stub: PUT ${stub.peer.url}/beat: ${reason}\n`);
    expect(code).toBe(1);
  });

  test("that does not run is refused before anything is measured", async () => {
    const { code, stderr } = await runBench("--peer", "none=http://127.77.66.55:1/");
    expect(stderr).toStartWith("bench: error: peer none: POST http://127.77.66.55:1/: ");
    expect(code).toBe(1);
  });

  test("on another machine is a wrong option", async () => {
    const { code, stderr } = await runBench("--peer", "far=http://192.0.2.1/");
    expect(stderr).toStartWith("bench: error: the address of peer far must be 127.0.0.1 or [::1]");
    expect(code).toBe(2);
  });
});

describe("findListeningProcesses", () => {
  const script = (hostname: string, port: number): string =>
    `const { url } = Bun.serve({ hostname: "${hostname}", port: ${port}, reusePort: true,
      fetch: () => new Response() }); console.log(url.port);`;

  async function startListener(hostname: string, port = 0) {
    const child = Bun.spawn([process.execPath, "-e", script(hostname, port)], { stdout: "pipe" });
    const reader = child.stdout.getReader();
    const text = new TextDecoder().decode((await reader.read()).value);
    return { pid: child.pid, port: Number(text), [Symbol.dispose]: () => child.kill("SIGKILL") };
  }

  test("finds all processes that share a port", async () => {
    using first = await startListener("127.0.0.1");
    using second = await startListener("127.0.0.1", first.port);
    const found = findListeningProcesses(`http://127.0.0.1:${first.port}`);
    expect(found.toSorted((a, b) => a - b)).toEqual(
      [first.pid, second.pid].toSorted((a, b) => a - b),
    );
  });

  test("prefers the process of the very address to one of all addresses", async () => {
    using all = await startListener("0.0.0.0");
    using one = await startListener("127.0.0.2", all.port);
    expect(findListeningProcesses(`http://127.0.0.2:${all.port}`)).toEqual([one.pid]);
    expect(findListeningProcesses(`http://127.0.0.1:${all.port}`)).toEqual([all.pid]);
  });

  test("finds a process that listens on IPv6", async () => {
    using listener = await startListener("::1");
    expect(findListeningProcesses(`http://[::1]:${listener.port}`)).toEqual([listener.pid]);
  });

  test("finds none if nothing listens", () => {
    expect(findListeningProcesses("http://127.77.66.55:1")).toEqual([]);
  });
});

describe("the part speed", () => {
  test("compares Berth with all baselines, and reports a peer that errs", async () => {
    using stub = servePeer((count) => new Response("", { status: count === 40 ? 500 : 200 }));
    const { figures, text, wrong } = await measureSpeed(await buildBaselines(), SMALL_SIZE, [
      stub.peer,
    ]);
    expect(wrong).toEqual([expect.stringMatching(/peer stub: 1 times status 500$/)]);
    expect(figures.map(({ what }) => what)).toContain(
      "processor time of heartbeats at 16 connections, compared with raw",
    );
    for (const comparison of [
      "heartbeats at 16 connections, compared with raw",
      "heartbeats at 16 connections, compared with stub",
      "borrows at 64 connections, compared with memory",
    ]) {
      const rate = figures.find(({ what }) => what === `rate of ${comparison}`);
      expect(rate?.value).toBeGreaterThan(0);
    }
    for (const name of ["berth", "raw", "elysia", "memory", "sqlite", "stub"]) {
      expect(text).toContain(`\nheartbeat 16 ${name} `);
    }
  });
});

describe("another executable", () => {
  test("is compared in all loads", async () => {
    const other = { file: buildBinary(), site: null };
    const { figures, text, wrong } = await measureAgainst(other, SMALL_SIZE);
    expect(wrong).toEqual([]);
    expect(text).toStartWith(`old is ${buildBinary()}, berth `);
    const rates = figures.filter(({ what }) => what.startsWith("rate of "));
    expect(rates.filter(({ value }) => value > 0)).toHaveLength(6);
  });

  const folder = makeTempFolder();
  const program = join(folder, "program");

  test("that cannot read the format of the site is refused with a hint", async () => {
    const error = "berth: error: state.json has format 9; this berth knows 2 to 8";
    writeFileSync(program, `#!/bin/sh\necho '${error}' >&2\nexit 78\n`);
    chmodSync(program, 0o755);
    const { code, stderr } = await runBench("--against", program);
    const [first, second] = stderr.split("\n");
    expect(first).toBe(
      `bench: error: ${program} cannot serve the site: state.json has format 9; this berth knows 2 to 8`,
    );
    expect(second).toStartWith("bench: hint: ");
    expect(second).toEndWith("add --against-site FOLDER");
    expect(code).toBe(1);
  });

  test("that does not exist is refused", async () => {
    const { code, stderr } = await runBench("--against", join(folder, "none"));
    expect(stderr).toStartWith(`bench: error: ${join(folder, "none")} cannot be started: ENOENT`);
    expect(code).toBe(1);
  });

  test("is refused with a folder that is not a site", async () => {
    const site = join(folder, "empty");
    mkdirSync(site);
    const { code, stderr } = await runBench("--against", buildBinary(), "--against-site", site);
    expect(stderr).toStartWith(`bench: error: ${site} is not a data folder\nbench: hint: `);
    expect(code).toBe(1);
  });

  test("is refused with a site of another size", async () => {
    const site = await makePopulatedSite(join(folder, "small"), 3);
    const { code, stderr } = await runBench("--against", buildBinary(), "--against-site", site);
    expect(stderr).toStartWith(`bench: error: ${site} has 3 registrations, not 10000\n`);
    expect(code).toBe(1);
  });
});

test("measurePauses finds collections in the log of a real server", async () => {
  const site = await makePopulatedSite(join(makeTempFolder(), "site"), 100);
  const options = {
    registrations: 100,
    kinds: ["heartbeat"],
    connections: 64,
    hasGoal: true,
  } as const;
  let seconds = 1;
  let result = await measurePauses(site, { ...options, seconds });
  // On a busy machine it takes longer until there is garbage to collect.
  for (; result.figures.length === 0 && seconds < 100; seconds *= 4) {
    result = await measurePauses(site, { ...options, seconds });
  }
  expect(result.wrong).toEqual([]);
  const [middle, longest] = result.figures;
  expect(middle?.what).toBe("pause of eden collections at 100 registrations, median");
  expect(middle?.value).toBeGreaterThan(0);
  expect(longest?.value).toBeGreaterThanOrEqual(middle?.value ?? NaN);
});

/** Runs the benchmark itself, with options that it refuses. */
async function runBench(...args: readonly string[]) {
  const script = join(import.meta.dir, "bench.ts");
  const child = Bun.spawn([process.execPath, script, ...args], {
    stdout: "ignore",
    stderr: "pipe",
  });
  const stderr = await child.stderr.text();
  return { code: await child.exited, stderr };
}
