// How fast Berth answers, held against its yardsticks in the same run: all servers up at once, every
// round asks each of them, and what counts is the median of the rounds' ratios.
import { readResidentMiB } from "../support/resident-memory.ts";
import { startComparedServers, type BenchServer } from "./servers.ts";
import { formatColumns, atLeast, median, atMost, formatNumber, type Figure } from "./goals.ts";
import type { RunResult } from "./run-load.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";
import type { LoadKind } from "./load-plan.ts";
import type { Baselines } from "./baselines.ts";

const USERS = 10_000;
const BUSY = 64;
/** So many answers at least, or so many runs. */
const WARM = { answers: 50_000, runs: 8 };
const OTHERS: readonly LoadKind[] = [
  "heartbeat",
  "cycle",
  "borrow",
  "consumption",
  "denial",
  "health",
];

type Metric = "perSecond" | "p50" | "p99" | "max" | "cpu" | "written";

/** The rounds of one load on one server. */
type Rounds = Map<string, RunResult[]>;

const keyOf = (server: string, kind: LoadKind, connections: number): string =>
  `${kind} ${connections} ${server}`;

export async function measureSpeed(yardsticks: Baselines, size: BenchSize): Promise<PartResult> {
  const { berth, ceiling, raw, elysia, sqlite } = await startComparedServers(yardsticks, USERS);
  const servers: readonly BenchServer[] = [berth, ceiling, raw, elysia, sqlite];
  // Whatever is asked first would pay for what the runtime compiles while it runs.
  for (const server of servers) await warmUp(server, size.seconds);
  const rounds: Rounds = new Map();
  const ask = async (servers: readonly BenchServer[], kind: LoadKind, connections: number) => {
    for (const server of servers) {
      const key = keyOf(server.name, kind, connections);
      const round = await server.run({ kind, connections, seconds: size.seconds });
      rounds.set(key, [...(rounds.get(key) ?? []), round]);
    }
  };
  for (const connections of size.connections) {
    for (let round = 0; round < size.rounds; round += 1) {
      await ask(servers, "heartbeat", connections);
    }
  }
  for (let round = 0; round < size.rounds; round += 1) {
    for (const kind of OTHERS) {
      if (kind !== "heartbeat") await ask([berth, ceiling], kind, BUSY);
      // Again, right beside the others: rounds of another minute cannot be compared.
      else await ask([berth], "heartbeat", BUSY);
    }
  }
  await berth.run({ kind: "contest", connections: BUSY, seconds: size.seconds });
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
  for (let runs = 0; answered < WARM.answers && runs < WARM.runs; runs += 1) {
    answered += (await server.run({ kind: "heartbeat", connections: BUSY, seconds })).answered;
  }
}

function figuresOf(rounds: Rounds, { connections }: BenchSize): Figure[] {
  const of = (server: string, kind: LoadKind, at: number, pick: Metric): number[] =>
    (rounds.get(keyOf(server, kind, at)) ?? []).map((round) => round[pick]);
  const against = (other: string, kind: LoadKind, at: number, pick: Metric = "perSecond"): number =>
    median(ratios(of("berth", kind, at, pick), of(other, kind, at, pick)));
  const figures: Figure[] = connections.map((at) => ({
    what: `heartbeats at ${at} connections, against the ceiling`,
    value: against("ceiling", "heartbeat", at),
    unit: "x",
    goal: at >= 64 ? atLeast(0.8) : null,
  }));
  figures.push({
    what: `heartbeats at ${BUSY} connections, against SQLite`,
    value: against("sqlite", "heartbeat", BUSY),
    unit: "x",
    goal: atLeast(4),
  });
  figures.push({
    what: `processor time of a heartbeat at ${BUSY} connections, against the ceiling`,
    value: against("ceiling", "heartbeat", BUSY, "cpu"),
    unit: "x",
    goal: null,
  });
  figures.push({
    what: "p99 of heartbeats at 256 connections, against the ceiling's",
    value: against("ceiling", "heartbeat", 256, "p99"),
    unit: "x",
    goal: atMost(2),
  });
  const denials = of("berth", "denial", BUSY, "perSecond");
  // The last heartbeats are from between the denials.
  const beside = of("berth", "heartbeat", BUSY, "perSecond").slice(-denials.length);
  figures.push({
    what: `denials at ${BUSY} connections, against heartbeats`,
    value: median(ratios(denials, beside)),
    unit: "x",
    goal: atLeast(1),
  });
  for (const kind of OTHERS.slice(1)) {
    const value = against("ceiling", kind, BUSY);
    const what = `${kind} at ${BUSY} connections, against the ceiling`;
    figures.push({ what, value, unit: "x", goal: null });
  }
  return figures;
}

const ratios = (ones: readonly number[], others: readonly number[]): number[] =>
  ones.slice(0, others.length).map((one, round) => one / (others[round] ?? NaN));

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

/** That it is the servers that are measured: against the raw one it does more, and it rests. */
function generatorText(rounds: Rounds): string {
  const all = [...rounds];
  const busiest = (name: string): string => {
    const own = all.filter(([key]) => key.endsWith(name)).flatMap(([, some]) => some);
    const most = Math.max(...own.map(({ perSecond }) => perSecond));
    const busy = Math.max(...own.map((round) => round.generatorCpuShare));
    return `${name} ${formatNumber(most)}/s with ${(busy * 100).toFixed(0)} % of a processor`;
  };
  return `the generator at its busiest: ${busiest("raw")}, ${busiest("ceiling")}, ${busiest("berth")}`;
}
