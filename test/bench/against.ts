// Compares Berth with another executable of it, for example of an earlier version: both run at once
// over copies of one site, and every round measures both.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { STATE_FILE } from "../../src/store/folder/files.ts";
import { buildMultiMachineBinary } from "../support/binary.ts";
import { CannotMeasure, type BenchSize, type PartResult } from "./bench-part.ts";
import { formatNumber } from "./goals.ts";
import { readUsage } from "./process-usage.ts";
import { compareSeries, Rounds } from "./rounds.ts";
import {
  BenchServer,
  copySite,
  makeBenchFolder,
  makePopulatedSite,
  NO_AUDIT_BUDGET,
  type ServerLoad,
} from "./servers.ts";
import { CONNECTIONS, OPERATIONS, USERS, warmUp } from "./speed.ts";

export interface OtherExecutable {
  readonly file: string;
  /** A populated site in a format that the file can read; null: that of this version. */
  readonly site: string | null;
}

const SITE_HINT =
  "if it cannot read the format of this version, make a site in the sources of that version " +
  `with bun test/bench/populated-site.ts FOLDER ${USERS}, and add --against-site FOLDER`;

const NAME = "old";

/** Throws CannotMeasure before anything is measured. */
export async function checkOtherExecutable(other: OtherExecutable): Promise<void> {
  const folder = makeBenchFolder();
  if (other.site !== null && !existsSync(join(other.site, STATE_FILE)))
    throw new CannotMeasure(`${other.site} is not a data folder`, SITE_HINT);
  const users = other.site === null ? 1 : USERS;
  const site = other.site ?? (await makePopulatedSite(join(folder, "new"), users));
  const server = await startOther(other, copySite(site, join(folder, NAME)), users);
  const held = await server.expectedTotals?.readSlotsHeld();
  await server.kill();
  if (held !== users)
    throw new CannotMeasure(`${site} has ${held} registrations, not ${users}`, SITE_HINT);
}

export async function measureAgainst(other: OtherExecutable, size: BenchSize): Promise<PartResult> {
  const { connections, rounds, seconds } = size;
  const folder = makeBenchFolder();
  const site = await makePopulatedSite(join(folder, "berth"), USERS);
  const otherSite = copySite(other.site ?? site, join(folder, NAME));
  const servers = [
    // The other one, of a release, runs over a copy on this machine.
    await BenchServer.startLicenseServer("berth", [buildMultiMachineBinary()], site, USERS),
    await startOther(other, otherSite, USERS),
  ];
  const loads: readonly ServerLoad[] = [
    ...connections.map((at) => ({ kind: "heartbeat", connections: at, seconds }) as const),
    ...OPERATIONS.filter((kind) => kind !== "heartbeat").map((kind) => ({
      kind,
      connections: CONNECTIONS,
      seconds,
    })),
  ];
  for (const server of servers) await warmUp(server, size);
  // Otherwise the first rounds would pay for the just-in-time compilation of the other loads.
  for (const load of loads) for (const server of servers) await server.run(load);
  for (const server of servers) await server.waitUntilIdle();
  const childCpuBefore = servers.map(({ pids }) => readUsage(pids).childCpu);
  const results = new Rounds();
  for (const load of loads) {
    for (let round = 0; round < rounds; round += 1) await results.run(servers, round, load);
  }
  const checkpointCpu = servers.map(({ name, pids }, index) => {
    const milliseconds = readUsage(pids).childCpu - (childCpuBefore[index] ?? NaN);
    return `${name} ${formatNumber((milliseconds / results.answers(name)) * 1_000)} ms`;
  });
  for (const server of servers) await server.kill();
  return {
    figures: loads.flatMap(({ kind, connections }) =>
      compareSeries(
        results,
        { server: "berth", kind, connections },
        { server: NAME, kind, connections },
      ),
    ),
    text: [
      `${NAME} is ${resolve(other.file)}, ${readVersion(other.file)}`,
      `${USERS} registrations; medians of ${rounds} rounds of ${seconds} s`,
      results.table(),
      `processor time of checkpoint processes for 1,000 requests: ${checkpointCpu.join(", ")}`,
    ].join("\n"),
    wrong: servers.flatMap(({ wrong }) => wrong),
  };
}

async function startOther(
  { file }: OtherExecutable,
  site: string,
  users: number,
): Promise<BenchServer> {
  // The first versions had no audit budget.
  const hasBudget = runToEnd(file, "serve", "--help").includes("--audit-budget");
  const flags = hasBudget ? NO_AUDIT_BUDGET : [];
  try {
    return await BenchServer.startLicenseServer(NAME, [resolve(file)], site, users, flags);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reason = /error: (.*)/.exec(message)?.[1] ?? message;
    throw new CannotMeasure(`${file} cannot serve the site: ${reason}`, SITE_HINT);
  }
}

const readVersion = (file: string): string => runToEnd(file, "--version").trim();

function runToEnd(file: string, ...args: readonly string[]): string {
  try {
    return Bun.spawnSync([resolve(file), ...args], { cwd: "/", env: {} }).stdout.toString();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CannotMeasure(`${file} cannot be started: ${reason}`, null);
  }
}
