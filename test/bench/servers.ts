// The servers of one comparison, all running at once.
import { cpSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "../support/suite-harness.ts";
import {
  buildBinary,
  MACHINE_VARIABLE,
  startProgram,
  type ServerProcess,
} from "../support/binary.ts";
import { waitForNoCheckpoint } from "./checkpoint-watcher.ts";
import { encodeReply } from "./constant-reply.ts";
import { ExpectedTotals } from "./expected-totals.ts";
import { checkSameReply, readHeartbeatReply } from "./heartbeat-reply.ts";
import { describeErrors } from "./load-plan.ts";
import { runLoad, type LoadOptions, type RunResult, type MeasuredProcess } from "./run-load.ts";
import type { Baselines } from "./baselines.ts";

/** Creates a folder on a real disk, removed at the end. */
export function makeBenchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a data folder with so many slots in use. */
export async function makePopulatedSite(
  folder: string,
  registrations: number,
  ...options: readonly "distinct-addresses"[]
): Promise<string> {
  const script = join(import.meta.dir, "populated-site.ts");
  const child = Bun.spawn([process.execPath, script, folder, String(registrations), ...options]);
  if ((await child.exited) !== 0)
    throw new Error(`could not create a site with ${registrations} registrations`);
  return folder;
}

/** Copies a data folder, without the socket of its server. */
export function copySite(from: string, to: string): string {
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
  return to;
}

const LISTEN = ["--listen", "127.0.0.1:0"];
/** All load comes from one address, so its audit budget must be unlimited. */
export const NO_AUDIT_BUDGET = ["--audit-budget", "0"];

export type ServerLoad = Omit<LoadOptions, "users">;

/** A server that takes part in a comparison. */
export interface ComparedServer extends MeasuredProcess {
  /** Failed checks; if there are any, its figures are invalid. */
  readonly wrong: readonly string[];
  run(load: ServerLoad): Promise<RunResult>;
  /** Waits for work that would take processor time from the next server. */
  waitUntilIdle(): Promise<void>;
}

/** A server that the benchmark started; a license server also has the totals that it must show. */
export class BenchServer implements ComparedServer {
  readonly name: string;
  readonly expectedTotals: ExpectedTotals | null;
  readonly users: number;
  readonly #running: ServerProcess;
  readonly #errors: string[] = [];

  static startBerth(
    folder: string,
    users: number,
    flags: readonly string[] = NO_AUDIT_BUDGET,
  ): Promise<BenchServer> {
    return BenchServer.startLicenseServer("berth", [buildBinary()], folder, users, flags);
  }

  static async startLicenseServer(
    name: string,
    program: readonly string[],
    folder: string,
    users: number,
    flags: readonly string[] = NO_AUDIT_BUDGET,
  ): Promise<BenchServer> {
    const serve = [...program, "serve", "--data", folder, ...LISTEN, ...flags];
    // Copies of one site may run at the same time: a program for tests is then on its own machine.
    const running = await startProgram(["env", `${MACHINE_VARIABLE}=${folder}`, ...serve]);
    const { origin } = new URL(running.url);
    return new BenchServer(name, running, users, new ExpectedTotals(origin, users));
  }

  static async startBaseline(
    name: string,
    program: readonly string[],
    users: number,
  ): Promise<BenchServer> {
    return new BenchServer(name, await startProgram(program), users, null);
  }

  private constructor(
    name: string,
    running: ServerProcess,
    users: number,
    expectedTotals: ExpectedTotals | null,
  ) {
    this.name = name;
    this.#running = running;
    this.users = users;
    this.expectedTotals = expectedTotals;
    atEnd(() => running.signal("SIGKILL"));
  }

  get url(): string {
    return new URL(this.#running.url).origin;
  }

  get pid(): number {
    return this.#running.pid;
  }

  get pids(): readonly number[] {
    return [this.pid];
  }

  get wrong(): readonly string[] {
    return this.expectedTotals?.mismatches ?? this.#errors;
  }

  /** What it wrote to its standard error so far. */
  errorOutput(): string {
    return this.#running.stderr();
  }

  /** Runs a load, and compares the totals afterwards. */
  async run(load: ServerLoad): Promise<RunResult> {
    const result = await runLoad(this, { ...load, users: this.users });
    const runName = `${load.kind} at ${load.connections} connections, ${this.name}`;
    if (this.expectedTotals === null) this.#errors.push(...describeErrors(runName, result));
    else await this.expectedTotals.compareAfterRun(load.kind, runName, result);
    return result;
  }

  /** A checkpoint can last longer than the run in which it began. */
  waitUntilIdle(): Promise<void> {
    return waitForNoCheckpoint(this.pid);
  }

  kill(): Promise<void> {
    return this.#running.kill();
  }
}

/** `raw` is the ceiling, and `memory` is Berth without a journal. */
export const SERVER_NAMES = ["berth", "raw", "elysia", "memory", "sqlite"] as const;

export type ComparedServers = Readonly<Record<(typeof SERVER_NAMES)[number], BenchServer>>;

/** Starts Berth and the baselines, with the same users and the same replies. */
export async function startComparedServers(
  baselines: Baselines,
  users: number,
): Promise<ComparedServers> {
  const folder = makeBenchFolder();
  const berthFolder = await makePopulatedSite(join(folder, "berth"), users);
  const memoryFolder = copySite(berthFolder, join(folder, "memory"));
  const sqliteFolder = join(folder, "sqlite");
  mkdirSync(sqliteFolder);
  const berth = await BenchServer.startBerth(berthFolder, users);
  const reply = await readHeartbeatReply(berth.url, users);
  const startBaseline = async (name: "raw" | "elysia" | "sqlite", ...args: string[]) => {
    const command = [baselines[name], encodeReply(reply), ...args];
    const server = await BenchServer.startBaseline(name, command, users);
    await checkSameReply(server, users, reply);
    return server;
  };
  return {
    berth,
    memory: await BenchServer.startLicenseServer("memory", [baselines.memory], memoryFolder, users),
    raw: await startBaseline("raw"),
    elysia: await startBaseline("elysia"),
    sqlite: await startBaseline("sqlite", sqliteFolder),
  };
}
