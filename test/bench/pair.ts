// Measures the heartbeats of a host of a pair, whose log is a PostgreSQL server with a synchronous
// standby, beside those of a server that is alone, in turns.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBinary, buildMultiMachineBinary } from "../support/binary.ts";
import { atEnd } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "../pair/postgres-cluster.ts";
import { installPostgres } from "../pair/postgres-programs.ts";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { atLeast, formatNumber, median, type Figure } from "./goals.ts";
import { Rounds, compareSeries } from "./rounds.ts";
import {
  BenchServer,
  copySite,
  makeBenchFolder,
  makePopulatedSite,
  NO_AUDIT_BUDGET,
} from "./servers.ts";
import { warmUp } from "./speed.ts";

const REGISTRATIONS = 10_000;
const CONNECTIONS = [64, 256];
const GOAL = { connections: 256, perSecond: 10_000 };

export async function measurePair(size: BenchSize): Promise<PartResult> {
  try {
    installPostgres();
  } catch (error) {
    return { figures: [], text: error instanceof Error ? error.message : "", wrong: [] };
  }
  const folder = makeBenchFolder();
  const aloneFolder = await makePopulatedSite(join(folder, "alone"), REGISTRATIONS);
  const pairFolder = copySite(aloneFolder, join(folder, "pair"));
  const alone = await BenchServer.startLicenseServer(
    "alone",
    [buildMultiMachineBinary()],
    aloneFolder,
    REGISTRATIONS,
  );
  const pair = await startLeader(pairFolder);
  const servers = [alone, pair];
  for (const server of servers) await warmUp(server, size);
  const rounds = new Rounds();
  for (const connections of CONNECTIONS) {
    for (let round = 0; round < size.rounds; round += 1) {
      await rounds.run(servers, round, { kind: "heartbeat", connections, seconds: size.seconds });
    }
  }
  for (const server of servers) await server.kill();
  return {
    figures: CONNECTIONS.flatMap((connections) => figuresOf(rounds, connections)),
    text: `${rounds.table()}\n${formatNumber(REGISTRATIONS)} registrations; the log is PostgreSQL with a synchronous standby on this machine`,
    wrong: servers.flatMap(({ wrong }) => wrong),
  };
}

function figuresOf(rounds: Rounds, connections: number): Figure[] {
  const series = { server: "pair", kind: "heartbeat", connections } as const;
  return [
    {
      what: `heartbeats per second of a pair at ${connections} connections`,
      value: median(rounds.values(series, "perSecond")),
      unit: "",
      goal: connections === GOAL.connections ? atLeast(GOAL.perSecond) : null,
    },
    ...compareSeries(rounds, series, { ...series, server: "alone" }),
  ];
}

/** A host that leads a pair; the other host is not started. */
async function startLeader(folder: string): Promise<BenchServer> {
  // On the disk, as its syncs are a part of what is measured.
  const primary = PostgresCluster.start({}, tmpdir());
  atEnd(() => primary.remove());
  const standby = primary.startStandby("standby");
  atEnd(() => standby.remove());
  primary.configure({ synchronous_standby_names: "standby" });
  primary.reload();
  const flags = ["--pair-log", primary.url, "--pair-host", "alpha", ...NO_AUDIT_BUDGET];
  const program = [buildBinary()];
  const server = await BenchServer.startLicenseServer(
    "pair",
    program,
    folder,
    REGISTRATIONS,
    flags,
  );
  await waitUntil(
    async () => (await fetch(`${server.url}/api/v4/health`)).ok,
    "the host leads the pair",
  );
  return server;
}
