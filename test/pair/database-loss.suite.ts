// What a pair does without its database, and with one that lost acknowledged lines.
import { expect, test } from "bun:test";
import { readJournal } from "../support/licensed-store.ts";
import { routes } from "../support/routes.ts";
import { atEnd } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { callHost, codeOf, type CallAnswer } from "./faults/calls.ts";
import { connectTo } from "./form-pair.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import {
  makeSmallPair,
  read,
  registerSomewhere,
  register,
  startHosts,
  type SmallHost,
} from "./small-pair.ts";

function startCluster(): PostgresCluster {
  const cluster = PostgresCluster.start();
  atEnd(() => cluster.remove());
  return cluster;
}

/** The routes that a host answers although it does not lead. */
const ANSWERED = new Set([
  "/api/v4/health",
  "/metrics",
  "/api/admin/v1/pair",
  // Its replies are sent when the pair has ended.
  "/api/admin/v1/pair/leave",
]);

/** How each route is answered: its status, and its code if it is a refusal. */
async function callAllRoutes({ address }: SmallHost): Promise<ReadonlyMap<string, string>> {
  const replies = new Map<string, string>();
  for (const [route, methods] of routes) {
    if (ANSWERED.has(route)) continue;
    for (const method of Object.keys(methods).filter((name) => name !== "HEAD")) {
      const body = method === "GET" ? null : {};
      const path = route.replaceAll(/:\w+/g, "1");
      const answer = await callHost(address, { path, body, method, timeoutMs: 30_000 });
      replies.set(`${method} ${route}`, describe(answer));
    }
  }
  return replies;
}

const describe = (answer: CallAnswer | null): string =>
  answer === null ? "no answer" : `${answer.status} ${codeOf(answer)}`;

test("without the database both hosts answer 503 to everything but health, and recover by themselves", async () => {
  const cluster = startCluster();
  const hosts = await makeSmallPair(cluster.url);
  await startHosts(...hosts);
  await registerSomewhere(hosts, "ada");
  cluster.stopServer("immediate");
  for (const host of hosts) {
    await waitUntil(async () => (await read(host, "/api/v4/license?product=cad"))?.status === 503);
    const replies = await callAllRoutes(host);
    const others = [...replies].filter(([, reply]) => !/^503 (?:standby|log_un)/.test(reply));
    expect({ host: host.address.name, others }).toEqual({ host: host.address.name, others: [] });
    const health = await read(host, "/api/v4/health");
    expect(describe(health)).toMatch(/^503 (?:standby|log_unavailable)$/);
    expect((await read(host, "/metrics"))?.status).toBe(200);
  }
  cluster.startServer();
  const leader = await registerSomewhere(hosts, "bob");
  const registrations = await read(leader, "/api/admin/v1/registrations");
  const rows = registrations?.body as readonly { readonly user: string }[] | undefined;
  const users = rows?.map(({ user }) => user);
  expect(users).toEqual(["ada", "bob"]);
  for (const { host } of hosts) host.kill();
});

/** Makes an asynchronous standby of the database that receives nothing more. */
function startStaleStandby(cluster: PostgresCluster): PostgresCluster {
  const standby = cluster.startStandby("careless");
  atEnd(() => standby.remove());
  return standby;
}

/** The standby has all lines until now, and gets none that follow. */
async function cutReplication(cluster: PostgresCluster, standby: PostgresCluster): Promise<void> {
  const connection = connectTo(cluster.url);
  const ask = async (condition: string): Promise<boolean> =>
    (await connection.runStatement(`SELECT ${condition} AS holds FROM pg_stat_replication`))[0]?.[
      "holds"
    ] === true;
  const [{ lsn } = {}] = await connection.runStatement("SELECT pg_current_wal_lsn()::text AS lsn");
  await waitUntil(() => ask(`bool_and(replay_lsn >= '${String(lsn)}')`));
  standby.configure({ primary_conninfo: "host=127.0.0.1 port=1" });
  standby.reload();
  await waitUntil(() => ask("count(*) = 0"));
  connection.close();
}

const lastLineOf = ({ host }: SmallHost): number =>
  readJournal(host.options.folder).at(-1)?.line.seq ?? 0;

const problemOf = async (host: SmallHost): Promise<string> => {
  const reply = await read(host, "/api/admin/v1/pair");
  const { pair } = (reply?.body ?? {}) as { pair?: { problem: string | null } };
  return pair?.problem ?? "";
};

for (const which of ["both hosts", "only the leader"] as const) {
  test(`a promoted database that lost lines is noticed and named if ${which} had them`, async () => {
    const cluster = startCluster();
    const standby = startStaleStandby(cluster);
    const both = `postgres://berth@127.0.0.1:${cluster.port},127.0.0.1:${standby.port}/postgres`;
    const hosts = await makeSmallPair(cluster.url, () => ({ logUrl: both }));
    await startHosts(...hosts);
    const leader = await registerSomewhere(hosts, "ada");
    const other = hosts[0] === leader ? hosts[1] : hosts[0];
    await cutReplication(cluster, standby);
    if (which === "only the leader") other.host.suspend();
    for (let n = 0; n < 20; n += 1) expect((await register(leader, `lost-${n}`))?.status).toBe(200);
    const followers = which === "only the leader" ? [] : [other];
    await waitUntil(() => followers.every((host) => lastLineOf(host) >= lastLineOf(leader)));
    cluster.stopServer("immediate");
    standby.promote();
    other.host.resume();
    expect((await register(leader, "late"))?.status).toBe(503);
    // Both heads are named, and no host that has more lines than the database leads.
    for (const host of [leader, ...followers]) {
      await waitUntil(
        async () => /lost lines|does not continue/.test(await problemOf(host)),
        `${host.address.name} names the lost lines`,
      );
      expect(await problemOf(host)).toMatch(/line \d+ .*line \d+/);
      expect((await register(host, "late"))?.status).toBe(503);
    }
    // After a start as well.
    leader.host.kill();
    await leader.host.waitForExit();
    leader.host.start();
    await waitUntil(() => !leader.host.isRunning || leader.host.isReady);
    expect(leader.host.output).toMatch(/line \d+ .*line \d+/);
    expect(leader.host.isReady).toBe(false);
    for (const { host } of hosts) host.kill();
  });
}
