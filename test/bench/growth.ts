// Measures how a growing site affects speed, memory and start: the same load on servers with few
// and with many registrations, all running at once.
import { join } from "node:path";
import { readResidentMiB } from "../support/resident-memory.ts";
import { makeBenchFolder, makePopulatedSite, BenchServer } from "./servers.ts";
import { formatColumns, atLeast, median, atMost, formatNumber, type Figure } from "./goals.ts";
import { noticeCheckpoint, waitForNoCheckpoint } from "./checkpoint-watcher.ts";
import type { RunResult } from "./run-load.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";
import type { LoadKind } from "./load-plan.ts";

const CONNECTIONS = 64;
const KINDS = ["cycle", "heartbeat"] as const satisfies readonly LoadKind[];
const MILLION = 1_000_000;
const IDLE_TIME = 20_000;
/** A run with a checkpoint does not show the effect of the size alone, so it is repeated. */
const MAX_ATTEMPTS = 4;

interface SizedServer {
  readonly registrations: number;
  readonly server: BenchServer;
  /** Milliseconds to the first answer. */
  readonly start: number;
  mib: number;
  readonly rounds: Readonly<Record<(typeof KINDS)[number], RunResult[]>>;
}

export async function measureGrowth({
  registrations,
  rounds,
  seconds,
}: BenchSize): Promise<PartResult> {
  const folder = makeBenchFolder();
  const sizedServers: SizedServer[] = [];
  for (const count of registrations) {
    sizedServers.push(await startSizedServer(join(folder, String(count)), count));
  }
  // Time for the runtime to collect the garbage of the start.
  await Bun.sleep(IDLE_TIME);
  for (const sized of sizedServers) sized.mib = readResidentMiB(sized.server.pid);
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of KINDS) {
      for (const { server, rounds } of sizedServers) {
        rounds[kind].push(await runWithoutCheckpoint(server, kind, seconds));
      }
    }
  }
  for (const { server } of sizedServers) await server.kill();
  return {
    figures: figuresOf(sizedServers),
    text: tableOf(sizedServers),
    wrong: sizedServers.flatMap(({ server }) => server.wrong),
  };
}

async function startSizedServer(folder: string, registrations: number): Promise<SizedServer> {
  // As at a real site, every workstation has its own address.
  await makePopulatedSite(folder, registrations, "distinct-addresses");
  const begin = performance.now();
  const server = await BenchServer.startBerth(folder, registrations);
  const start = performance.now() - begin;
  return { registrations, server, start, mib: NaN, rounds: { cycle: [], heartbeat: [] } };
}

async function runWithoutCheckpoint(
  server: BenchServer,
  kind: LoadKind,
  seconds: number,
): Promise<RunResult> {
  for (let attempt = 1; ; attempt += 1) {
    await waitForNoCheckpoint(server.pid);
    const run = server.run({ kind, connections: CONNECTIONS, seconds });
    const { value: result, hadCheckpoint } = await noticeCheckpoint(server.pid, run);
    if (!hadCheckpoint || attempt === MAX_ATTEMPTS) return result;
  }
}

function figuresOf(all: readonly SizedServer[]): Figure[] {
  const [small] = all;
  const large = all.at(-1);
  if (small === undefined || large === undefined) return [];
  const figures: Figure[] = [];
  for (const kind of KINDS) {
    for (const { registrations, rounds } of all.slice(1)) {
      const ratios = rounds[kind].map(
        ({ perSecond }, round) => perSecond / (small.rounds[kind][round]?.perSecond ?? NaN),
      );
      figures.push({
        what: `${kind} at ${formatNumber(registrations)} registrations, compared with ${small.registrations}`,
        value: median(ratios),
        unit: "x",
        goal: kind === "cycle" && registrations === MILLION ? atLeast(0.9) : null,
      });
    }
  }
  const difference = large.registrations - small.registrations;
  figures.push({
    what: `resident memory for each registration, of ${formatNumber(large.registrations)}`,
    value: ((large.mib - small.mib) * 1024 * 1024) / difference,
    unit: "bytes",
    goal: atMost(700),
  });
  figures.push({
    what: `start-up for each million registrations, of ${formatNumber(large.registrations)}`,
    value: ((large.start - small.start) / difference) * (MILLION / 1_000),
    unit: "s",
    goal: atMost(3),
  });
  return figures;
}

function tableOf(all: readonly SizedServer[]): string {
  const head = ["registrations", "start ms", "MiB"];
  for (const kind of KINDS) head.push(`${kind} req/s`, "p99 ms", "max ms", "cpu ms/1,000");
  const rows = all.map(({ registrations, start, mib, rounds }) => {
    const cells = KINDS.flatMap((kind) => [
      median(rounds[kind].map(({ perSecond }) => perSecond)),
      median(rounds[kind].map(({ p99 }) => p99)),
      Math.max(...rounds[kind].map(({ max }) => max)),
      median(rounds[kind].map(({ cpu }) => cpu)),
    ]);
    return [registrations, start, mib, ...cells].map(formatNumber);
  });
  return formatColumns([head, ...rows]);
}
