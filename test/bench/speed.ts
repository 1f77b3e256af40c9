// Compares the speed of Berth with the baselines: all servers run at once, every round measures
// each of them, and the result is the median of the ratios of the rounds.
import { readResidentMiB } from "../support/resident-memory.ts";
import { startComparedServers, type BenchServer } from "./servers.ts";
import { formatColumns, atLeast, median, atMost, formatNumber, type Figure } from "./goals.ts";
import type { RunResult } from "./run-load.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";
import type { LoadKind } from "./load-plan.ts";
import type { Baselines } from "./baselines.ts";

const USERS = 10_000;
const CONNECTIONS = 64;
/** Warm-up: at least so many answers, or so many runs. */
const WARM_UP = { answers: 50_000, runs: 8 };
const LOAD_ORDER: readonly LoadKind[] = [
  "heartbeat",
  "cycle",
  "borrow",
  "consumption",
  "denial",
  "health",
];

type Metric = "perSecond" | "p50" | "p99" | "max" | "cpu" | "written";

/** By server, load and connections, the results of all rounds. */
type Rounds = Map<string, RunResult[]>;

const keyOf = (server: string, kind: LoadKind, connections: number): string =>
  `${kind} ${connections} ${server}`;

export async function measureSpeed(baselines: Baselines, size: BenchSize): Promise<PartResult> {
  const { berth, ceiling, raw, elysia, sqlite } = await startComparedServers(baselines, USERS);
  const servers: readonly BenchServer[] = [berth, ceiling, raw, elysia, sqlite];
  // Otherwise the first load would pay for the just-in-time compilation.
  for (const server of servers) await warmUp(server, size.seconds);
  const rounds: Rounds = new Map();
  const runRound = async (servers: readonly BenchServer[], kind: LoadKind, connections: number) => {
    for (const server of servers) {
      const key = keyOf(server.name, kind, connections);
      const result = await server.run({ kind, connections, seconds: size.seconds });
      rounds.set(key, [...(rounds.get(key) ?? []), result]);
    }
  };
  for (const connections of size.connections) {
    for (let round = 0; round < size.rounds; round += 1) {
      await runRound(servers, "heartbeat", connections);
    }
  }
  for (let round = 0; round < size.rounds; round += 1) {
    for (const kind of LOAD_ORDER) {
      if (kind !== "heartbeat") await runRound([berth, ceiling], kind, CONNECTIONS);
      // Again, next to the other loads: rounds at different times cannot be compared.
      else await runRound([berth], "heartbeat", CONNECTIONS);
    }
  }
  await berth.run({ kind: "contest", connections: CONNECTIONS, seconds: size.seconds });
  const memory = servers.map(({ name, pid }) => `${name} ${readResidentMiB(pid).toFixed(0)}`);
  for (const server of servers) await server.kill();
  return {
    figures: figuresOf(rounds, size),
    text: [
      `${USERS} registrations; medians of ${size.rounds} rounds of ${size.seconds} s`,
      tableOf(rounds),
      `resident memory afterwards, in MiB: ${memory.join(", ")}`,
      generatorText(rounds),
    ].join("\n"),
    wrong: [
      ...(berth.expectedTotals?.mismatches ?? []),
      ...(ceiling.expectedTotals?.mismatches ?? []),
    ],
  };
}

async function warmUp(server: BenchServer, seconds: number): Promise<void> {
  let answered = 0;
  for (let runs = 0; answered < WARM_UP.answers && runs < WARM_UP.runs; runs += 1) {
    answered += (await server.run({ kind: "heartbeat", connections: CONNECTIONS, seconds }))
      .answered;
  }
}

function figuresOf(rounds: Rounds, { connections }: BenchSize): Figure[] {
  const of = (server: string, kind: LoadKind, at: number, pick: Metric): number[] =>
    (rounds.get(keyOf(server, kind, at)) ?? []).map((round) => round[pick]);
  const against = (other: string, kind: LoadKind, at: number, pick: Metric = "perSecond"): number =>
    median(ratios(of("berth", kind, at, pick), of(other, kind, at, pick)));
  const figures: Figure[] = connections.map((at) => ({
    what: `heartbeats at ${at} connections, compared with the ceiling`,
    value: against("ceiling", "heartbeat", at),
    unit: "x",
    goal: at >= 64 ? atLeast(0.8) : null,
  }));
  figures.push({
    what: `heartbeats at ${CONNECTIONS} connections, compared with SQLite`,
    value: against("sqlite", "heartbeat", CONNECTIONS),
    unit: "x",
    goal: atLeast(4),
  });
  figures.push({
    what: `processor time of a heartbeat at ${CONNECTIONS} connections, compared with the ceiling`,
    value: against("ceiling", "heartbeat", CONNECTIONS, "cpu"),
    unit: "x",
    goal: null,
  });
  figures.push({
    what: "p99 of heartbeats at 256 connections, compared with the ceiling",
    value: against("ceiling", "heartbeat", 256, "p99"),
    unit: "x",
    goal: atMost(2),
  });
  const denials = of("berth", "denial", CONNECTIONS, "perSecond");
  // The last heartbeats were measured between the denials.
  const heartbeats = of("berth", "heartbeat", CONNECTIONS, "perSecond").slice(-denials.length);
  figures.push({
    what: `denials at ${CONNECTIONS} connections, compared with heartbeats`,
    value: median(ratios(denials, heartbeats)),
    unit: "x",
    goal: atLeast(1),
  });
  for (const kind of LOAD_ORDER.slice(1)) {
    const value = against("ceiling", kind, CONNECTIONS);
    const what = `${kind} at ${CONNECTIONS} connections, compared with the ceiling`;
    figures.push({ what, value, unit: "x", goal: null });
  }
  return figures;
}

const ratios = (values: readonly number[], references: readonly number[]): number[] =>
  values.slice(0, references.length).map((value, round) => value / (references[round] ?? NaN));

function tableOf(rounds: Rounds): string {
  const head = ["", "req/s", "p50 ms", "p99 ms", "max ms", "cpu ms/1,000", "MB/100,000"];
  const rows = [...rounds].map(([key, all]) => {
    const of = (pick: Metric): number => median(all.map((round) => round[pick]));
    const longest = Math.max(...all.map(({ max }) => max));
    const written = of("written") / 10;
    const figures = [of("perSecond"), of("p50"), of("p99"), longest, of("cpu"), written];
    return [key, ...figures.map(formatNumber)];
  });
  return formatColumns([head, ...rows]);
}

/**
 * Shows that the generator is not the limit: the raw server gets more requests, and it has idle
 * time.
 */
function generatorText(rounds: Rounds): string {
  const all = [...rounds];
  const busiest = (name: string): string => {
    const results = all.filter(([key]) => key.endsWith(name)).flatMap(([, list]) => list);
    const rate = Math.max(...results.map(({ perSecond }) => perSecond));
    const share = Math.max(...results.map((result) => result.generatorCpuShare));
    return `${name} ${formatNumber(rate)}/s with ${(share * 100).toFixed(0)} % of a processor`;
  };
  return `highest rate of the load generator: ${busiest("raw")}, ${busiest("ceiling")}, ${busiest("berth")}`;
}
