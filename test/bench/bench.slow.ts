// Tests of the benchmark: a wrong answer is an error, and totals that do not match are reported.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ExpectedTotals } from "./expected-totals.ts";
import { checkSameReply, readHeartbeatReply } from "./heartbeat-reply.ts";
import { makePopulatedSite, BenchServer } from "./servers.ts";
import { runLoad, type RunResult } from "./run-load.ts";
import { LOAD_KINDS, type LoadOutcome } from "./load-plan.ts";

const USERS = 100;
const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
let server: BenchServer;

beforeAll(async () => {
  server = await BenchServer.startBerth(
    await makePopulatedSite(join(folder, "data"), USERS),
    USERS,
  );
});

afterAll(async () => {
  await server.kill();
  rmSync(folder, { recursive: true });
});

test.each(LOAD_KINDS)("a run of %s has no errors and no mismatch of totals", async (kind) => {
  let result = await server.run({ kind, connections: 32, seconds: 0.1 });
  // On a busy machine it takes longer until every connection has an answer.
  for (let seconds = 1; result.answered <= 32 && seconds < 100; seconds *= 4) {
    result = await server.run({ kind, connections: 32, seconds });
  }
  expect(result.errors).toEqual({});
  expect(result.answered).toBeGreaterThan(32);
  expect(server.expectedTotals?.mismatches).toEqual([]);
});

const emptyOutcome: LoadOutcome = {
  answered: 0,
  requests: 0,
  perSecond: 0,
  p50: 0,
  p99: 0,
  max: 0,
  granted: 0,
  released: 0,
  consumed: 0,
  mostHeld: 0,
  generatorCpuShare: 0,
  errors: {},
};

test.each([
  ["a granted slot that is not held", { granted: 1 }, "slots held: 100, acknowledged: 101"],
  ["a released slot that is still held", { released: 1 }, "slots held: 100, acknowledged: 99"],
  [
    "more slots held than the license has",
    { mostHeld: 1_101 },
    "1101 slots were held at once, of 1100",
  ],
  ["a request that failed", { errors: { "status 500": 2 } }, "2 times status 500"],
])("ExpectedTotals reports %s", async (_case, differing, mismatch) => {
  const totals = new ExpectedTotals(server.url, USERS);
  const response = await fetch(`${server.url}/api/v4/license?product=cad`);
  const { total_consumptions: consumed } = (await response.json()) as {
    total_consumptions: number;
  };
  await totals.compareAfterRun("heartbeat", "now", { ...emptyOutcome, consumed, ...differing });
  expect(totals.mismatches).toEqual([`now: ${mismatch}`]);
});

test("ExpectedTotals reports acknowledged consumption that the server does not show", async () => {
  const totals = new ExpectedTotals(server.url, USERS);
  await totals.compareAfterRun("consumption", "now", {
    ...emptyOutcome,
    consumed: 1_000_000_000,
  });
  expect(totals.mismatches[0]).toEndWith("acknowledged: 1000000000");
});

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

test.each([
  ["an answer with another status", "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "status 500"],
  ["an answer that is too short", `${OK}x`, "the server closed a connection"],
  ["no answer at all", "", "the server closed a connection"],
  ["an answer that is too long", `${OK}xxx`, "the answer is longer than its length"],
  [
    "an answer without a length",
    "HTTP/1.1 200 OK\r\n\r\nxx",
    "an answer has neither Content-Length nor chunked encoding",
  ],
  ["chunks that are too short", `${CHUNKED}2\r\nx`, "the server closed a connection"],
  [
    "more bytes after the last chunk",
    `${CHUNKED}0\r\n\r\nx`,
    "the answer is longer than its length",
  ],
])("the load generator counts %s as an error", async (_case, answer, error) => {
  expect((await runAgainstStub(answer)).errors).toEqual({ [error]: 4 });
});

test.each([
  ["an answer", [`${OK}x`, "x"]],
  ["chunks", [`${CHUNKED}2`, "\r\nx", "x\r\n0\r\n", "\r\n"]],
])("the load generator accepts %s in several parts", async (_case, parts) => {
  const result = await runAgainstStub(...parts);
  expect(result.errors).toEqual({});
  expect(result.answered).toBeGreaterThan(0);
});

test("the load generator counts connections that cannot be opened as errors", async () => {
  // Nothing listens on port 1 of this address.
  const subject = { name: "none", url: "http://127.77.66.55:1", pids: [] };
  const load = { kind: "heartbeat", connections: 4, seconds: 0.1, users: USERS } as const;
  expect((await runLoad(subject, load)).errors).toEqual({ "a connection could not be opened": 4 });
});

describe("a baseline", () => {
  const reply = { headers: { "Cache-Control": "no-store", "X-A": "b" }, body: "{}" };

  const serve = (headers: Record<string, string>, body: string) =>
    Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(body, { headers }) });

  test.each([
    ["another body", reply.headers, "{ }", "stub sends another body than Berth"],
    ["no such header", { "X-A": "b" }, "{}", "stub sends other headers than Berth"],
    ["another value", { ...reply.headers, "X-A": "c" }, "{}", "stub sends other headers"],
    ["one header more", { ...reply.headers, "X-C": "d" }, "{}", "stub sends other headers"],
  ])("that sends %s is refused", async (_case, headers, body, message) => {
    using stub = serve(headers, body);
    const subject = { name: "stub", url: stub.url.origin };
    const failure = await checkSameReply(subject, USERS, reply).catch(String);
    expect(failure).toStartWith(`Error: ${message}`);
  });

  test("that sends the bytes of Berth is accepted", async () => {
    const berthReply = await readHeartbeatReply(server.url, USERS);
    expect(JSON.parse(berthReply.body)).toHaveProperty("user", "user-50@initrode.example");
    using stub = serve(berthReply.headers, berthReply.body);
    await checkSameReply({ name: "stub", url: stub.url.origin }, USERS, berthReply);
  });
});

/**
 * Sends heartbeats to a server that answers these parts; it closes the connection if there is one.
 */
async function runAgainstStub(...parts: readonly string[]): Promise<RunResult> {
  const stub = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async data(socket) {
        for (const part of parts) {
          socket.write(part);
          socket.flush();
          await Bun.sleep(5);
        }
        if (parts.length === 1) socket.end();
      },
    },
  });
  const subject = { name: "stub", url: `http://127.0.0.1:${stub.port}`, pids: [process.pid] };
  try {
    return await runLoad(subject, {
      kind: "heartbeat",
      connections: 4,
      seconds: 0.1,
      users: USERS,
    });
  } finally {
    stub.stop(true);
  }
}
