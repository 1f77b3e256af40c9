// Puts the compiled server under a long mixed load: heartbeats, users that register only once,
// refusals, invalid requests and short connections. Its resident memory must level off. The suite
// is made for a soak run; a short run only shows that the suite itself works.
import { beforeAll, describe, test } from "bun:test";
import { readdirSync } from "node:fs";
import { startBinary, type ServerProcess } from "../../support/binary.ts";
import { KeepAliveClient } from "../../support/keep-alive-client.ts";
import { MemoryCurve } from "../../support/resident-memory.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { atEnd, makeTempFolder, chooseSize, isDetectionRun } from "../../support/suite-harness.ts";
import { expectKept, expectPromise } from "../shared/promises.ts";

const CLIENTS = 32;
const PRODUCT = "cad";
const REQUESTS = chooseSize(100_000, 1_000_000);
/** Enough calls for the JIT to compile every code path, and for a checkpoint. */
const WARM_UP = chooseSize(50_000, 100_000);
const STAGES = chooseSize(8, 10);
const MAX_GROWTH_MIB = 32;
/** The runtime starts threads when it has much to do. */
const MAX_MORE_THREADS = 8;
/** A file that is being written. */
const MAX_MORE_DESCRIPTORS = 2;
/** After this many rounds a client closes its connection and opens another. */
const ROUNDS_PER_CONNECTION = 25;

let server: ServerProcess;
let memory: MemoryCurve;
let calls = 0;
/** How often each wrong answer came. */
const wrongAnswers = new Map<string, number>();

/** Calls that are granted, calls that are refused, and requests that are not valid. */
async function runRound(to: KeepAliveClient, client: number): Promise<void> {
  const expectStatus = async (
    description: string,
    expected: number,
    answer: Promise<number>,
  ): Promise<void> => {
    const key = `${description} is answered with ${await answer}, not ${expected}`;
    if ((await answer) !== expected) wrongAnswers.set(key, (wrongAnswers.get(key) ?? 0) + 1);
    calls += 1;
  };
  const register = (fields: object): Promise<number> =>
    to.post("/api/v4/register", { product: PRODUCT, ...fields });
  const newUser = `once-${calls}-${client}`;
  await expectStatus("a heartbeat", 200, register({ user: `holder-${client}` }));
  await expectStatus(
    "a new user",
    200,
    register({ user: newUser, os_hostname: newUser, user_info: "new" }),
  );
  await expectStatus("a heartbeat", 200, register({ user: `holder-${client}` }));
  await expectStatus("reading the license", 200, to.get(`/api/v4/license?product=${PRODUCT}`));
  await expectStatus(
    "a new user's heartbeat",
    200,
    register({ user: newUser, user_info: "elsewhere" }),
  );
  await expectStatus(
    "unregistering",
    200,
    to.post("/api/v4/unregister", { product: PRODUCT, user: newUser }),
  );
  await expectStatus("unregistering twice", 400, to.post("/api/v4/unregister", { user: newUser }));
  await expectStatus(
    "registering for an unknown product",
    400,
    register({ product: newUser, user: newUser }),
  );
  await expectStatus("registering without a user", 400, register({}));
  await expectStatus("registering with a number as the user", 400, register({ user: calls }));
  await expectStatus(
    "registering with a name that is too long",
    400,
    register({ user: `${newUser} ${"x".repeat(300)}` }),
  );
  await expectStatus(
    "a truncated body",
    400,
    to.send("POST", "/api/v4/register", `{"user":"${newUser}`),
  );
  await expectStatus("an unknown path", 404, to.get(`/api/v4/${newUser}`));
  await expectStatus("a wrong method", 405, to.get("/api/v4/register"));
}

async function runClient(index: number, until: number): Promise<void> {
  while (calls < until) {
    const to = await KeepAliveClient.open(server.url);
    for (let round = 0; round < ROUNDS_PER_CONNECTION && calls < until; round += 1)
      await runRound(to, index);
    to.close();
  }
}

interface Resources {
  readonly descriptors: number;
  readonly threads: number;
}

const countResources = (): Resources => ({
  descriptors: readdirSync(`/proc/${server.pid}/fd`).length,
  threads: readdirSync(`/proc/${server.pid}/task`).length,
});

const callUntil = async (until: number): Promise<unknown> =>
  Promise.all(Array.from({ length: CLIENTS }, (_, index) => runClient(index, until)));

describe("a server under a long mixed load", () => {
  let before: Resources;
  let after: Resources;

  beforeAll(async () => {
    const folder = makeTempFolder();
    await makeLicensedSite(folder, { product: PRODUCT, slots: 2 * CLIENTS });
    const flags = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
    server = await startBinary("serve", "--data", folder, ...flags);
    atEnd(() => void server.kill());
    await callUntil(WARM_UP);
    memory = new MemoryCurve(server.pid);
    await memory.sample();
    // No client is connected at a sample.
    before = countResources();
    for (let stage = 1; stage <= STAGES; stage += 1) {
      await callUntil(WARM_UP + (stage * REQUESTS) / STAGES);
      await memory.sample();
      // Not earlier: the first samples contain what the JIT still compiles.
      const isLeak = stage >= STAGES / 2 && memory.growthMiB >= MAX_GROWTH_MIB;
      if (isDetectionRun && isLeak) break;
    }
    after = countResources();
    console.log(`${calls} calls; ${memory.summary}; ${JSON.stringify({ before, after })}`);
  });

  test("answers every call with the expected status", () => {
    expectKept([...wrongAnswers].map(([answer, count]) => `${answer} (${count} times)`));
  });

  test(`needs less than ${MAX_GROWTH_MIB} MiB more after ${REQUESTS} requests`, () => {
    expectPromise(memory.growthMiB < MAX_GROWTH_MIB, `${memory.growthMiB} MiB; ${memory.summary}`);
  });

  test("has no more descriptors and threads than before", () => {
    const { descriptors, threads } = before;
    expectPromise(after.descriptors <= descriptors + MAX_MORE_DESCRIPTORS, { before, after });
    expectPromise(after.threads <= threads + MAX_MORE_THREADS, { before, after });
  });

  test("exits with code 0 after the load", async () => {
    const code = await server.stop();
    expectPromise(code === 0, `exit code ${code}`);
  });
});
