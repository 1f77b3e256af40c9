// Two hosts in network namespaces of their own, whose packets are lost.
import { expect } from "bun:test";
import { atEnd, testUnless } from "../support/suite-harness.ts";
import { readJournal } from "../support/licensed-store.ts";
import { waitUntil } from "../support/wait-until.ts";
import { findNetworkObstacle, NetworkNamespace } from "./network-namespace.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import {
  makeSmallPair,
  read,
  register,
  registerSomewhere,
  startHosts,
  type SmallHost,
} from "./small-pair.ts";
import { TcpProxy } from "./tcp-proxy.ts";

const testInNamespaces = testUnless(findNetworkObstacle());

interface Machine {
  readonly small: SmallHost;
  readonly network: NetworkNamespace;
}

/** Two hosts that reach the database and their clients through links of their own. */
async function startMachines(): Promise<readonly [Machine, Machine]> {
  const cluster = PostgresCluster.start();
  atEnd(() => cluster.remove());
  const networks = [new NetworkNamespace(), new NetworkNamespace()] as const;
  // The database listens on this machine only.
  const proxies = await Promise.all(
    networks.map(({ gateway }) => TcpProxy.start(cluster.port, { address: gateway })),
  );
  atEnd(() => proxies.forEach((proxy) => proxy.stop()));
  const hosts = await makeSmallPair(cluster.url, (index) => ({
    logUrl: `postgres://berth@${networks[index].gateway}:${proxies[index]?.port ?? 0}/postgres`,
    address: networks[index].address,
    prefix: networks[index].prefix,
  }));
  await startHosts(...hosts);
  return [
    { small: hosts[0], network: networks[0] },
    { small: hosts[1], network: networks[1] },
  ];
}

const smallHosts = (machines: readonly Machine[]): SmallHost[] =>
  machines.map(({ small }) => small);

const lastLineOf = ({ host }: SmallHost): string =>
  readJournal(host.options.folder).at(-1)?.line.sum ?? "";

testInNamespaces(
  "a leader whose packets to the database are lost answers nothing, and the other host leads",
  async () => {
    const machines = await startMachines();
    const old = await registerSomewhere(smallHosts(machines), "ada");
    const [isolated, other] = machines[0].small === old ? machines : machines.toReversed();
    if (isolated === undefined || other === undefined) throw new Error("no machines");
    isolated.network.setLink("database", "down");
    const leader = await registerSomewhere([other.small], "bob");
    // Clients reach it: it must not show what it knows. Before the write, which it cannot append.
    expect((await read(old, "/api/v4/license?product=cad"))?.status).toBe(503);
    expect((await register(old, "cyd"))?.status).toBe(503);
    isolated.network.setLink("database", "up");
    await waitUntil(() => lastLineOf(old) === lastLineOf(leader));
    for (const { host } of smallHosts(machines)) host.kill();
  },
);

testInNamespaces(
  "a leader that no packet reaches is replaced, and follows when packets arrive again",
  async () => {
    const machines = await startMachines();
    const old = await registerSomewhere(smallHosts(machines), "ada");
    const [isolated, other] = machines[0].small === old ? machines : machines.toReversed();
    if (isolated === undefined || other === undefined) throw new Error("no machines");
    for (const link of ["database", "clients"] as const) isolated.network.setLink(link, "down");
    const leader = await registerSomewhere([other.small], "bob");
    isolated.network.setLink("clients", "up");
    expect((await register(old, "cyd"))?.status).toBe(503);
    isolated.network.setLink("database", "up");
    await waitUntil(() => lastLineOf(old) === lastLineOf(leader));
    for (const { host } of smallHosts(machines)) host.kill();
  },
);
