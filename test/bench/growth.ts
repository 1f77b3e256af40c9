// Measures how a growing site affects speed, memory and start: the same load on servers with few
// and with many registrations. First all of them run at once, then only the smallest and the
// largest: the others take memory caches from them. At last, the pauses of the garbage collector are
// measured with the largest one alone.
import { join } from "node:path";
import { readResidentMiB } from "../support/resident-memory.ts";
import { makeBenchFolder, makePopulatedSite, BenchServer } from "./servers.ts";
import { formatColumns, atLeast, median, atMost, formatNumber, type Figure } from "./goals.ts";
import { noticeCheckpoint, waitForNoCheckpoint } from "./checkpoint-watcher.ts";
import type { RunResult } from "./run-load.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";
import { warmUp } from "./speed.ts";
import type { LoadKind } from "./load-plan.ts";
import { measurePauses } from "./collector-pauses.ts";

const CONNECTIONS = 64;
const KINDS = ["cycle", "heartbeat"] as const satisfies readonly LoadKind[];
const MILLION = 1_000_000;
const IDLE_TIME = 20_000;
/** Collections are rare, so that load lasts so many times as long as another. */
const COLLECTOR_RUN = 15;
/** A run with a checkpoint does not show the effect of the size alone, so it is repeated. */
const MAX_ATTEMPTS = 4;

type Kind = (typeof KINDS)[number];
type SizedRounds = Readonly<Record<Kind, RunResult[]>>;

type Section = "together" | "alone";

const SECTION_TEXTS: Readonly<Record<Section, string>> = { together: "", alone: ", alone" };

interface SizedServer {
  readonly registrations: number;
  readonly folder: string;
  readonly server: BenchServer;
  /** Milliseconds to the first answer. */
  readonly start: number;
  mib: number;
  /** With all servers running. */
  readonly together: SizedRounds;
  /** With the smallest and the largest server running. */
  readonly alone: SizedRounds;
}

export async function measureGrowth(size: BenchSize): Promise<PartResult> {
  const folder = makeBenchFolder();
  const all: SizedServer[] = [];
  for (const count of size.registrations) {
    all.push(await startSizedServer(join(folder, String(count)), count));
  }
  // Time for the runtime to collect the garbage of the start.
  await Bun.sleep(IDLE_TIME);
  for (const sized of all) sized.mib = readResidentMiB(sized.server.pid);
  // Otherwise the first rounds would pay for the just-in-time compilation.
  for (const { server } of all) {
    await warmUp(server, size);
    await server.run({ kind: "cycle", connections: CONNECTIONS, seconds: size.seconds });
  }
  await runInTurns(all, "together", size);
  const [small, large] = [all[0], all.at(-1)];
  if (small === undefined || large === undefined) throw new Error("no registrations to measure");
  for (const { server } of all.slice(1, -1)) await server.kill();
  const pair = [small, large];
  // Two servers were alone already.
  const hasOthers = all.length > pair.length;
  if (hasOthers) await runInTurns(pair, "alone", size);
  for (const { server } of pair) await server.kill();
  const pauses = await measurePauses(large.folder, {
    registrations: large.registrations,
    kinds: KINDS,
    connections: CONNECTIONS,
    seconds: size.seconds * COLLECTOR_RUN,
    hasGoal: large.registrations === MILLION,
  });
  return {
    figures: [
      ...all.slice(1).flatMap((sized) => speedFigures(sized, small, "together")),
      ...(hasOthers ? speedFigures(large, small, "alone") : []),
      ...sizeFigures(large, small),
      ...pauses.figures,
    ],
    text: [
      "all servers running",
      tableOf(all, "together"),
      ...(hasOthers ? ["\nonly the smallest and the largest running", tableOf(pair, "alone")] : []),
      `\nstops of all JavaScript by the garbage collector, at ${formatNumber(large.registrations)} registrations: medians and longest`,
      pauses.text,
    ].join("\n"),
    wrong: [...all.flatMap(({ server }) => server.wrong), ...pauses.wrong],
  };
}

async function startSizedServer(folder: string, registrations: number): Promise<SizedServer> {
  // As at a real site, every workstation has its own address.
  await makePopulatedSite(folder, registrations, "distinct-addresses");
  const begin = performance.now();
  const server = await BenchServer.startBerth(folder, registrations);
  const start = performance.now() - begin;
  const together = { cycle: [], heartbeat: [] };
  const alone = { cycle: [], heartbeat: [] };
  return { registrations, folder, server, start, mib: NaN, together, alone };
}

/** The order is reversed in every other round, so that no server is always the first. */
async function runInTurns(
  servers: readonly SizedServer[],
  section: Section,
  { rounds, seconds }: BenchSize,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of KINDS) {
      for (const sized of round % 2 === 0 ? servers : servers.toReversed()) {
        sized[section][kind].push(await runWithoutCheckpoint(sized.server, kind, seconds));
      }
    }
  }
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

function speedFigures(sized: SizedServer, small: SizedServer, section: Section): Figure[] {
  const [registrations, few] = [sized, small].map((one) => formatNumber(one.registrations));
  return KINDS.flatMap((kind) => {
    const ratio = (metric: "perSecond" | "cpu"): number =>
      median(
        sized[section][kind].map(
          (result, round) => result[metric] / (small[section][kind][round]?.[metric] ?? NaN),
        ),
      );
    const what = `${kind}s at ${registrations} registrations, compared with ${few}${SECTION_TEXTS[section]}`;
    const hasGoal = kind === "cycle" && sized.registrations === MILLION;
    return [
      {
        what: `rate of ${what}`,
        value: ratio("perSecond"),
        unit: "x",
        goal: hasGoal ? atLeast(0.9) : null,
      },
      { what: `processor time of ${what}`, value: ratio("cpu"), unit: "x", goal: null },
    ];
  });
}

function sizeFigures(large: SizedServer, small: SizedServer): Figure[] {
  const difference = large.registrations - small.registrations;
  return [
    {
      what: `resident memory for each registration, of ${formatNumber(large.registrations)}`,
      value: ((large.mib - small.mib) * 1024 * 1024) / difference,
      unit: "bytes",
      goal: atMost(700),
    },
    {
      what: `start-up for each million registrations, of ${formatNumber(large.registrations)}`,
      value: ((large.start - small.start) / difference) * (MILLION / 1_000),
      unit: "s",
      goal: atMost(3),
    },
  ];
}

function tableOf(all: readonly SizedServer[], section: Section): string {
  const head = ["registrations", "start ms", "MiB"];
  for (const kind of KINDS) head.push(`${kind} req/s`, "p99 ms", "max ms", "cpu ms/1,000");
  const rows = all.map((sized) => {
    const cells = KINDS.flatMap((kind) => {
      const results = sized[section][kind];
      return [
        median(results.map(({ perSecond }) => perSecond)),
        median(results.map(({ p99 }) => p99)),
        Math.max(...results.map(({ max }) => max)),
        median(results.map(({ cpu }) => cpu)),
      ];
    });
    return [sized.registrations, sized.start, sized.mib, ...cells].map(formatNumber);
  });
  return formatColumns([head, ...rows]);
}
