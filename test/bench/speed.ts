// Compares the speed of Berth with the baselines: all servers run at once, every round measures
// each of them, and the result is the median of the ratios of the rounds.
import { readResidentMiB } from "../support/resident-memory.ts";
import { SERVER_NAMES, startComparedServers, type ComparedServer } from "./servers.ts";
import { PeerServer } from "./peer-server.ts";
import { atLeast, median, atMost, type Figure } from "./goals.ts";
import { readUsage } from "./process-usage.ts";
import { compareSeries, Rounds } from "./rounds.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";
import type { LoadKind } from "./load-plan.ts";
import type { Peer } from "./peer-options.ts";
import type { Baselines } from "./baselines.ts";

export const USERS = 10_000;
export const CONNECTIONS = 64;
/** The number of connections at which the tail of the latency is judged. */
const TAIL_CONNECTIONS = 256;
/** A slow server cannot answer so many heartbeats as the warm-up wants. */
const MAX_WARM_UP_RUNS = 8;
/** All loads that are measured at one number of connections. */
export const OPERATIONS: readonly LoadKind[] = [
  "heartbeat",
  "cycle",
  "borrow",
  "consumption",
  "denial",
  "health",
];

interface SpeedResults {
  /** Heartbeats of all servers, at every number of connections. */
  readonly heartbeats: Rounds;
  /** All operations of Berth with and without its journal, one after the other in each round. */
  readonly operations: Rounds;
  /** Processor time of Berth's checkpoint processes during all heartbeats, in milliseconds. */
  readonly checkpointCpu: number;
}

export async function measureSpeed(
  baselines: Baselines,
  size: BenchSize,
  peers: readonly Peer[],
): Promise<PartResult> {
  const { rounds, seconds } = size;
  const started = await startComparedServers(baselines, USERS);
  const { berth, memory } = started;
  const ownServers = SERVER_NAMES.map((name) => started[name]);
  const servers = [...ownServers, ...peers.map((peer) => new PeerServer(peer, USERS))];
  // Otherwise the first load would pay for the just-in-time compilation.
  for (const server of servers) await warmUp(server, size);
  const results = { heartbeats: new Rounds(), operations: new Rounds() };
  const childCpuBefore = readUsage(berth.pids).childCpu;
  for (const connections of size.connections) {
    for (let round = 0; round < rounds; round += 1) {
      await results.heartbeats.run(servers, round, { kind: "heartbeat", connections, seconds });
    }
  }
  const checkpointCpu = readUsage(berth.pids).childCpu - childCpuBefore;
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of OPERATIONS) {
      const load = { kind, connections: CONNECTIONS, seconds };
      await results.operations.run([berth, memory], round, load);
    }
  }
  await berth.run({ kind: "contest", connections: CONNECTIONS, seconds });
  const megabytes = servers.map(({ name, pids }) => `${name} ${formatMemory(pids)}`);
  for (const server of ownServers) await server.kill();
  const generatorLoads = ["raw", "memory", "berth"].map((name) =>
    results.heartbeats.generatorLoad(name),
  );
  return {
    figures: figuresOf({ ...results, checkpointCpu }, size, peers),
    text: [
      `${USERS} registrations; medians of ${rounds} rounds of ${seconds} s`,
      results.heartbeats.table(),
      `\nall operations, in turns with memory (Berth without a journal)`,
      results.operations.table(),
      `resident memory afterwards, in MiB: ${megabytes.join(", ")}`,
      `highest rate of the load generator: ${generatorLoads.join(", ")}`,
    ].join("\n"),
    wrong: servers.flatMap(({ wrong }) => wrong),
  };
}

const formatMemory = (pids: readonly number[]): string =>
  pids.length === 0 ? "-" : pids.reduce((sum, pid) => sum + readResidentMiB(pid), 0).toFixed(0);

export async function warmUp(
  server: ComparedServer,
  { seconds, warmUpAnswers }: BenchSize,
): Promise<void> {
  const load = { kind: "heartbeat", connections: CONNECTIONS, seconds } as const;
  let answered = 0;
  for (let runs = 0; answered < warmUpAnswers && runs < MAX_WARM_UP_RUNS; runs += 1) {
    answered += (await server.run(load)).answered;
  }
  await server.waitUntilIdle();
}

function figuresOf(
  { heartbeats, operations, checkpointCpu }: SpeedResults,
  { connections }: BenchSize,
  peers: readonly Peer[],
): Figure[] {
  const heartbeat = (server: string, at: number) =>
    ({ server, kind: "heartbeat", connections: at }) as const;
  const comparedAt = (other: string, at: number): Figure[] =>
    compareSeries(heartbeats, heartbeat("berth", at), heartbeat(other, at));
  const figures = connections.flatMap((at) => comparedAt("raw", at));
  figures.push(...comparedAt("elysia", CONNECTIONS));
  figures.push({
    what: `rate of heartbeats at ${CONNECTIONS} connections, compared with sqlite`,
    value: heartbeats.ratio(
      heartbeat("berth", CONNECTIONS),
      heartbeat("sqlite", CONNECTIONS),
      "perSecond",
    ),
    unit: "x",
    goal: atLeast(4),
  });
  figures.push({
    what: "processor time of checkpoint processes for 1,000 heartbeats",
    value: (checkpointCpu / heartbeats.answers("berth")) * 1_000,
    unit: "ms",
    goal: null,
  });
  for (const { name } of peers) {
    figures.push(...connections.flatMap((at) => comparedAt(name, at)));
  }
  const tail = heartbeat("berth", TAIL_CONNECTIONS);
  const typical = heartbeats.values(tail, "p50");
  figures.push({
    what: `p99 of heartbeats at ${TAIL_CONNECTIONS} connections, compared with their p50`,
    value: median(
      heartbeats.values(tail, "p99").map((p99, round) => p99 / (typical[round] ?? NaN)),
    ),
    unit: "x",
    goal: atMost(2),
  });
  const operation = (server: string, kind: LoadKind) =>
    ({ server, kind, connections: CONNECTIONS }) as const;
  figures.push({
    what: `rate of denials at ${CONNECTIONS} connections, compared with heartbeats`,
    value: operations.ratio(
      operation("berth", "denial"),
      operation("berth", "heartbeat"),
      "perSecond",
    ),
    unit: "x",
    goal: atLeast(1),
  });
  for (const kind of OPERATIONS) {
    const [berth, memory] = [operation("berth", kind), operation("memory", kind)];
    figures.push(...compareSeries(operations, berth, memory));
  }
  return figures;
}
