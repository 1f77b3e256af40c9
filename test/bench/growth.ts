// What becomes of it all when a site grows: the same load on servers with few and with many
// registrations, all up at once.
import { join } from "node:path";
import { resident } from "../support/resident.ts";
import { benchFolder, crowdIn, Server } from "./field.ts";
import { columns, least, median, most, number, type Figure } from "./goals.ts";
import { quiet, type Round } from "./load.ts";
import type { Measured, Size } from "./part.ts";
import type { Kind } from "./plan.ts";

const CONNECTIONS = 64;
const KINDS = ["cycle", "heartbeat"] as const satisfies readonly Kind[];
const MILLION = 1_000_000;
const IDLE = 20_000;
/** A run into which a checkpoint falls says nothing about the size alone; it is made again. */
const TRIES = 4;

interface Grown {
  readonly registrations: number;
  readonly server: Server;
  /** Milliseconds to the first answer. */
  readonly start: number;
  mib: number;
  readonly rounds: Readonly<Record<(typeof KINDS)[number], Round[]>>;
}

export async function measureGrowth({ registrations, rounds, seconds }: Size): Promise<Measured> {
  const folder = benchFolder();
  const all: Grown[] = [];
  for (const count of registrations) {
    all.push(await grown(join(folder, String(count)), count));
  }
  // What a start leaves to be cleared away goes when the runtime finds the time.
  await Bun.sleep(IDLE);
  for (const one of all) one.mib = resident(one.server.pid);
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of KINDS) {
      for (const { server, rounds } of all) {
        rounds[kind].push(await undisturbed(server, kind, seconds));
      }
    }
  }
  for (const { server } of all) await server.kill();
  return {
    figures: figuresOf(all),
    text: tableOf(all),
    wrong: all.flatMap(({ server }) => server.books?.wrong ?? []),
  };
}

async function grown(folder: string, registrations: number): Promise<Grown> {
  // As at a real site, every workstation has an address of its own.
  await crowdIn(folder, registrations, "apart");
  const begin = performance.now();
  const server = await Server.berth(folder, registrations);
  const start = performance.now() - begin;
  return { registrations, server, start, mib: NaN, rounds: { cycle: [], heartbeat: [] } };
}

async function undisturbed(server: Server, kind: Kind, seconds: number): Promise<Round> {
  for (let attempt = 1; ; attempt += 1) {
    await quiet(server);
    const round = await server.run({ kind, connections: CONNECTIONS, seconds });
    if (!round.withCheckpoint || attempt === TRIES) return round;
  }
}

function figuresOf(all: readonly Grown[]): Figure[] {
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
        what: `${kind} at ${number(registrations)} registrations, against ${small.registrations}`,
        value: median(ratios),
        unit: "x",
        goal: kind === "cycle" && registrations === MILLION ? least(0.9) : null,
      });
    }
  }
  const more = large.registrations - small.registrations;
  figures.push({
    what: `resident memory for each registration, of ${number(large.registrations)}`,
    value: ((large.mib - small.mib) * 1024 * 1024) / more,
    unit: "bytes",
    goal: most(700),
  });
  figures.push({
    what: `start-up for each million registrations, of ${number(large.registrations)}`,
    value: ((large.start - small.start) / more) * (MILLION / 1_000),
    unit: "s",
    goal: most(3),
  });
  return figures;
}

function tableOf(all: readonly Grown[]): string {
  const head = ["registrations", "start ms", "MiB"];
  for (const kind of KINDS) head.push(`${kind} req/s`, "p99 ms", "max ms", "cpu ms/1,000");
  const rows = all.map(({ registrations, start, mib, rounds }) => {
    const cells = KINDS.flatMap((kind) => [
      median(rounds[kind].map(({ perSecond }) => perSecond)),
      median(rounds[kind].map(({ p99 }) => p99)),
      Math.max(...rounds[kind].map(({ max }) => max)),
      median(rounds[kind].map(({ cpu }) => cpu)),
    ]);
    return [registrations, start, mib, ...cells].map(number);
  });
  return columns([head, ...rows]);
}
