// Measures requests that wait for a slot: how soon a connected user gets a slot that was released,
// and what ten thousand of them cost in memory and in time of other requests.
import { join } from "node:path";
import { readResidentMiB } from "../support/resident-memory.ts";
import { installNewLicense, openSiteFolder } from "../support/site-folder.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { terms } from "../support/scenario.ts";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { atMost, below, formatNumber, median, type Figure } from "./goals.ts";
import { makeBenchFolder, NO_AUDIT_BUDGET } from "./servers.ts";

/** The default of max_waiting is so many for each product. */
const WAITERS_PER_PRODUCT = 1_000;
const PRODUCTS = 10;
const HANDOVERS = 300;
const PROBES = 2_000;
/** Time for the runtime to return the memory of what happened before. */
const SETTLE_MS = 5_000;
const FLAGS = ["--listen", "127.0.0.1:0", ...NO_AUDIT_BUDGET, "--max-places-per-caller", "100000"];
const KIB_PER_MIB = 1_024;

export async function measureWaiting({ rounds }: BenchSize): Promise<PartResult> {
  const folder = join(makeBenchFolder(), "data");
  await makeSite(folder);
  const server = await startBinary("serve", "--data", folder, ...FLAGS);
  const handovers = await measureHandovers(server, HANDOVERS);
  for (let product = 0; product < PRODUCTS; product += 1) {
    await expectStatus(200, server, "register", productName(product), "holder");
  }
  const waiters = PRODUCTS * WAITERS_PER_PRODUCT;
  await Bun.sleep(SETTLE_MS);
  const before = readResidentMiB(server.pid);
  const connections = await openConnections(server, waiters);
  await Bun.sleep(SETTLE_MS);
  const idle = readResidentMiB(server.pid);
  const aloneProbes = await probe(server, PROBES);
  await startWaiting(server, connections);
  await Bun.sleep(SETTLE_MS);
  const waiting = readResidentMiB(server.pid);
  const probes: number[] = [];
  for (let round = 0; round < rounds; round += 1) probes.push(...(await probe(server, PROBES)));
  const inQueue = await measureHandovers(server, HANDOVERS);
  for (const { socket } of connections) socket.end();
  await server.kill();
  const many = `with ${formatNumber(waiters)} waiting requests`;
  const kib = (mib: number): number => (mib * KIB_PER_MIB) / waiters;
  const figures: Figure[] = [
    figure("from release to grant, median", median(handovers), "ms", null),
    figure("from release to grant, p99", percentile99(handovers), "ms", atMost(100)),
    figure(`from release to grant ${many}, p99`, percentile99(inQueue), "ms", atMost(100)),
    figure(`p99 of other requests ${many}`, percentile99(probes), "ms", below(100)),
    figure("p99 of the same requests with idle connections", percentile99(aloneProbes), "ms", null),
    figure("memory of an idle connection", kib(idle - before), "KiB", null),
    figure("memory of a waiting request besides", kib(waiting - idle), "KiB", atMost(2)),
  ];
  return { figures, text: "", wrong: [] };
}

const figure = (what: string, value: number, unit: string, goal: Figure["goal"]): Figure => ({
  what,
  value,
  unit,
  goal,
});

const productName = (index: number): string => `p${index}`;

async function makeSite(folder: string): Promise<void> {
  const site = await openSiteFolder(folder, wallClock);
  for (let product = 0; product < PRODUCTS; product += 1) {
    await installNewLicense(site, terms({ product: productName(product), slots: 1 }));
  }
  await installNewLicense(site, terms({ product: "handover", slots: 1 }));
  await installNewLicense(site, terms({ product: "probe", slots: 100 }));
  await site.close();
}

const send = (
  server: ServerProcess,
  path: string,
  product: string,
  user: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(`${server.url}/api/v4/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ product, user }),
  });

async function expectStatus(status: number, ...request: Parameters<typeof send>): Promise<void> {
  const response = await send(...request);
  const text = await response.text();
  if (response.status !== status) throw new Error(`unexpected reply: ${text}`);
}

/** Milliseconds from sending a release until the waiting user has the slot. */
async function measureHandovers(server: ServerProcess, count: number): Promise<number[]> {
  const durations: number[] = [];
  let holder = "user-0";
  await expectStatus(200, server, "register", "handover", holder);
  for (let index = 1; index <= count; index += 1) {
    const next = `user-${index}`;
    const granted = expectStatus(200, server, "register", "handover", next, { prefer: "wait=60" });
    while (!(await isWaiting(server, next))) await Bun.sleep(1);
    const start = performance.now();
    const released = expectStatus(200, server, "unregister", "handover", holder);
    await granted;
    durations.push(performance.now() - start);
    await released;
    holder = next;
  }
  await expectStatus(200, server, "unregister", "handover", holder);
  return durations;
}

async function isWaiting(server: ServerProcess, user: string): Promise<boolean> {
  const response = await fetch(`${server.url}/api/admin/v1/queue?product=handover`);
  return (await response.text()).includes(`"${user}"`);
}

interface Connection {
  readonly socket: Bun.Socket;
  readonly index: number;
  /** Called with each reply. */
  receive: (text: string) => void;
}

async function openConnections(server: ServerProcess, count: number): Promise<Connection[]> {
  const { hostname, port } = new URL(server.url);
  const connections: Connection[] = [];
  for (let index = 0; index < count; index += 1) {
    const connection: { -readonly [K in keyof Connection]?: Connection[K] } = { index };
    connection.socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: { data: (_socket, bytes) => connection.receive?.(bytes.toString()) },
    });
    const ready = connection as Connection;
    connections.push(ready);
    // A connection that never had a request is cheaper than one with a request.
    await exchange(ready, "GET /api/v4/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  }
  return connections;
}

function exchange(connection: Connection, request: string): Promise<string> {
  return new Promise((resolve) => {
    connection.receive = resolve;
    connection.socket.write(request);
  });
}

/** All connections wait for a slot; returns when all have a place. */
async function startWaiting(
  server: ServerProcess,
  connections: readonly Connection[],
): Promise<void> {
  for (const { socket, index } of connections) {
    const product = productName(index % PRODUCTS);
    const body = JSON.stringify({ product, user: `waiter-${index}` });
    socket.write(
      "POST /api/v4/register HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
        `Prefer: wait=120\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  }
  for (;;) {
    const response = await fetch(`${server.url}/api/admin/v1/status`);
    const { queue } = (await response.json()) as {
      queue: { products: readonly { waiting: number }[] };
    };
    const waiting = queue.products.reduce((sum, product) => sum + product.waiting, 0);
    if (waiting >= connections.length) return;
    await Bun.sleep(100);
  }
}

/** Milliseconds of requests of another product, one after the other. */
async function probe(server: ServerProcess, count: number): Promise<number[]> {
  const durations: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    await expectStatus(200, server, "register", "probe", `user-${index % 100}`);
    durations.push(performance.now() - start);
  }
  return durations;
}

const percentile99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? NaN;
