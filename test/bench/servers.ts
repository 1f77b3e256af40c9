// The servers of one comparison, all running at once.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "../support/suite-harness.ts";
import { buildBinary, startProgram, type ServerProcess } from "../support/binary.ts";
import { ExpectedTotals } from "./expected-totals.ts";
import { contactOf, PRODUCT, userOf } from "./populated-site.ts";
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

/** All load comes from one address, so its audit budget must be unlimited. */
const LISTEN = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];

/** A running server; a license server also has the totals that it must show. */
export class BenchServer implements MeasuredProcess {
  readonly name: string;
  readonly expectedTotals: ExpectedTotals | null;
  readonly users: number;
  readonly #running: ServerProcess;

  static startBerth(folder: string, users: number): Promise<BenchServer> {
    return BenchServer.startLicenseServer("berth", [buildBinary()], folder, users);
  }

  static async startLicenseServer(
    name: string,
    program: readonly string[],
    folder: string,
    users: number,
  ): Promise<BenchServer> {
    const running = await startProgram([...program, "serve", "--data", folder, ...LISTEN]);
    return new BenchServer(name, running, users, new ExpectedTotals(running.url, users));
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
    return this.#running.url;
  }

  get pid(): number {
    return this.#running.pid;
  }

  /** Runs a load, and compares the totals afterwards. */
  async run(load: Omit<LoadOptions, "users">): Promise<RunResult> {
    const result = await runLoad(this, { ...load, users: this.users });
    const runName = `${load.kind} at ${load.connections} connections, ${this.name}`;
    if (this.expectedTotals !== null)
      await this.expectedTotals.compareAfterRun(load.kind, runName, result);
    else if (Object.keys(result.errors).length > 0) {
      throw new Error(`${runName}: ${JSON.stringify(result.errors)}`);
    }
    return result;
  }

  kill(): Promise<void> {
    return this.#running.kill();
  }
}

export interface ComparedServers {
  readonly berth: BenchServer;
  readonly ceiling: BenchServer;
  readonly raw: BenchServer;
  readonly elysia: BenchServer;
  readonly sqlite: BenchServer;
}

/** Starts Berth and the baselines, with the same users. */
export async function startComparedServers(
  baselines: Baselines,
  users: number,
): Promise<ComparedServers> {
  const folder = makeBenchFolder();
  const berthFolder = await makePopulatedSite(join(folder, "berth"), users);
  const ceilingFolder = join(folder, "ceiling");
  cpSync(berthFolder, ceilingFolder, { recursive: true });
  const berth = await BenchServer.startBerth(berthFolder, users);
  const bytes = String(await measureAnswerBytes(berth.url));
  const sqliteFolder = join(folder, "sqlite");
  mkdirSync(sqliteFolder);
  return {
    berth,
    ceiling: await BenchServer.startLicenseServer(
      "ceiling",
      [baselines.ceiling],
      ceilingFolder,
      users,
    ),
    raw: await BenchServer.startBaseline("raw", [baselines.raw, bytes], users),
    elysia: await BenchServer.startBaseline("elysia", [baselines.elysia, bytes], users),
    sqlite: await BenchServer.startBaseline(
      "sqlite",
      [baselines.sqlite, bytes, sqliteFolder],
      users,
    ),
  };
}

/** Length of the answer to a heartbeat, in bytes. */
export async function measureAnswerBytes(url: string): Promise<number> {
  const { hostname: os_hostname, ip: ip_local, info: user_info } = contactOf(0);
  const fields = { product: PRODUCT, user: userOf(0), os_hostname, ip_local, user_info };
  const response = await fetch(`${url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fields),
  });
  if (response.status !== 200) throw new Error(`a heartbeat was answered ${response.status}`);
  return (await response.arrayBuffer()).byteLength;
}
