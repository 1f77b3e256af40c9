// The benchmark's own judges: a wrong answer is an error, and books that do not balance are found.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ExpectedTotals } from "./expected-totals.ts";
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

test.each(LOAD_KINDS)("%s is asked and answered as it should be", async (kind) => {
  let round = await server.run({ kind, connections: 32, seconds: 0.1 });
  // A busy machine may need longer until every connection has had an answer.
  for (let seconds = 1; round.answered <= 32 && seconds < 100; seconds *= 4) {
    round = await server.run({ kind, connections: 32, seconds });
  }
  expect(round.errors).toEqual({});
  expect(round.answered).toBeGreaterThan(32);
  expect(server.expectedTotals?.mismatches).toEqual([]);
});

const nothing: LoadOutcome = {
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
  ["a slot that is not held", { granted: 1 }, "slots held: 100, acknowledged: 101"],
  ["a slot that was not given back", { released: 1 }, "slots held: 100, acknowledged: 99"],
  ["more slots than there are", { mostHeld: 1_101 }, "1101 slots were held at once, of 1100"],
  ["an error", { errors: { "status 500": 2 } }, "2 times status 500"],
])("the books find %s", async (_what, differing, found) => {
  const books = new ExpectedTotals(server.url, USERS);
  const shown = await fetch(`${server.url}/api/v4/license?product=cad`);
  const { total_consumptions: consumed } = (await shown.json()) as { total_consumptions: number };
  await books.compareAfterRun("heartbeat", "now", { ...nothing, consumed, ...differing });
  expect(books.mismatches).toEqual([`now: ${found}`]);
});

test("the books find a count that was not counted", async () => {
  const books = new ExpectedTotals(server.url, USERS);
  await books.compareAfterRun("consumption", "now", { ...nothing, consumed: 1_000_000_000 });
  expect(books.mismatches[0]).toEndWith("acknowledged: 1000000000");
});

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

test.each([
  ["another status", "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "status 500"],
  ["a short answer", `${OK}x`, "the server closed a connection"],
  ["no answer at all", "", "the server closed a connection"],
  ["more than was asked", `${OK}xxx`, "more was answered than was asked"],
])("%s is an error", async (_what, answer, error) => {
  expect((await askedOf(answer)).errors).toEqual({ [error]: 4 });
});

test("an answer in pieces is none", async () => {
  expect((await askedOf(`${OK}x`, "x")).errors).toEqual({});
});

/** Heartbeats to a server that says this and closes the connection after its last word. */
async function askedOf(...words: readonly string[]): Promise<RunResult> {
  const stub = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async data(socket) {
        for (const word of words) {
          socket.write(word);
          socket.flush();
          await Bun.sleep(5);
        }
        if (words.length === 1) socket.end();
      },
    },
  });
  const subject = { name: "stub", url: `http://127.0.0.1:${stub.port}`, pid: process.pid };
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
