// The compiled server under a long mixed load: heartbeats, users that come once and never again,
// refusals, requests that make no sense, connections that come and go. Its memory must level off.
// Made for a soak; a short run only tells whether it still works.
import { startBinary } from "../../support/binary.ts";
import { KeepAliveClient } from "../../support/keep-alive-client.ts";
import { MemoryCurve } from "../../support/resident-memory.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { atEnd, check, finish, makeTempFolder, chooseSize } from "../../support/suite-harness.ts";

const CLIENTS = 32;
const PRODUCT = "cad";
const REQUESTS = chooseSize(100_000, 1_000_000);
/** By then every kind of call was made often enough to be compiled, and a checkpoint was made. */
const WARM_UP = chooseSize(50_000, 100_000);
const STAGES = chooseSize(8, 10);
const MOST_MIB = 32;
/** After so many rounds a connection is left, and another one made. */
const ROUNDS = 25;

const folder = makeTempFolder();
await makeLicensedSite(folder, { product: PRODUCT, slots: 2 * CLIENTS });
const words = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
const server = await startBinary("serve", "--data", folder, ...words);
let running = true;
atEnd(() => running && process.kill(server.pid, "SIGKILL"));

let calls = 0;
/** Answers that should have been others, by what was asked. */
const wrong = new Map<string, number>();

/** Somebody's few minutes: what is granted, what is refused, and what is not even understood. */
async function round(to: KeepAliveClient, client: number): Promise<void> {
  const call = async (what: string, wanted: number, answer: Promise<number>): Promise<void> => {
    const key = `${what}: ${await answer}, not ${wanted}`;
    if ((await answer) !== wanted) wrong.set(key, (wrong.get(key) ?? 0) + 1);
    calls += 1;
  };
  const register = (fields: object): Promise<number> =>
    to.post("/api/v4/register", { product: PRODUCT, ...fields });
  const once = `once-${calls}-${client}`;
  await call("a heartbeat", 200, register({ user: `holder-${client}` }));
  await call("a new user", 200, register({ user: once, os_hostname: once, user_info: "new" }));
  await call("a heartbeat", 200, register({ user: `holder-${client}` }));
  await call("a look", 200, to.get(`/api/v4/license?product=${PRODUCT}`));
  await call("a new user's heartbeat", 200, register({ user: once, user_info: "elsewhere" }));
  await call("leaving", 200, to.post("/api/v4/unregister", { product: PRODUCT, user: once }));
  await call("leaving twice", 400, to.post("/api/v4/unregister", { user: once }));
  await call("a guessed product", 400, register({ product: once, user: once }));
  await call("nobody", 400, register({}));
  await call("a wrong type", 400, register({ user: calls }));
  await call("a name too long", 400, register({ user: `${once} ${"x".repeat(300)}` }));
  await call("half a body", 400, to.send("POST", "/api/v4/register", `{"user":"${once}`));
  await call("a guessed path", 404, to.get(`/api/v4/${once}`));
  await call("a wrong method", 405, to.get("/api/v4/register"));
}

async function client(index: number, until: number): Promise<void> {
  while (calls < until) {
    const to = await KeepAliveClient.open(server.url);
    for (let turn = 0; turn < ROUNDS && calls < until; turn += 1) await round(to, index);
    to.close();
  }
}

const callUntil = async (until: number): Promise<unknown> =>
  Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index, until)));

await callUntil(WARM_UP);
const memory = new MemoryCurve(server.pid);
await memory.sample();
for (let stage = 1; stage <= STAGES; stage += 1) {
  await callUntil(WARM_UP + (stage * REQUESTS) / STAGES);
  await memory.sample();
}
check(`all ${calls} calls were answered as they should be`, wrong.size === 0, [...wrong]);
check(
  `${REQUESTS} requests after ${WARM_UP} to warm up: ${memory.growthMiB.toFixed(1)} MiB more resident ` +
    `memory, less than ${MOST_MIB} (${memory.summary})`,
  memory.growthMiB < MOST_MIB,
);
const code = await server.stop();
running = false;
check(`and it stops with ${code}`, code === 0);
finish();
