// The servers of one comparison, all up at once.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "../support/suite-harness.ts";
import { buildBinary, startProgram, type ServerProcess } from "../support/binary.ts";
import { ExpectedTotals } from "./expected-totals.ts";
import { contactOf, PRODUCT, userOf } from "./populated-site.ts";
import { runLoad, type LoadOptions, type RunResult, type MeasuredProcess } from "./run-load.ts";
import type { Baselines } from "./baselines.ts";

/** A folder of the benchmark's own on a real disk, gone at the end. */
export function makeBenchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A site's folder in which so many hold a slot. */
export async function makePopulatedSite(
  folder: string,
  registrations: number,
  ...where: readonly "distinct-addresses"[]
): Promise<string> {
  const script = join(import.meta.dir, "populated-site.ts");
  const child = Bun.spawn([process.execPath, script, folder, String(registrations), ...where]);
  if ((await child.exited) !== 0) throw new Error(`no crowd of ${registrations} could be made`);
  return folder;
}

/** All load comes from one address, which may write as much as it can. */
const LISTEN = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];

/** A server with what it must have acknowledged; of one that lends nothing, without. */
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
    books: ExpectedTotals | null,
  ) {
    this.name = name;
    this.#running = running;
    this.users = users;
    this.expectedTotals = books;
    atEnd(() => running.signal("SIGKILL"));
  }

  get url(): string {
    return this.#running.url;
  }

  get pid(): number {
    return this.#running.pid;
  }

  /** One run, entered in its books. */
  async run(load: Omit<LoadOptions, "users">): Promise<RunResult> {
    const round = await runLoad(this, { ...load, users: this.users });
    const what = `${load.kind} at ${load.connections} connections, ${this.name}`;
    if (this.expectedTotals !== null)
      await this.expectedTotals.compareAfterRun(load.kind, what, round);
    else if (Object.keys(round.errors).length > 0) {
      throw new Error(`${what}: ${JSON.stringify(round.errors)}`);
    }
    return round;
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

/** Berth and what it is held against, with the same crowd. */
export async function startComparedServers(
  yardsticks: Baselines,
  users: number,
): Promise<ComparedServers> {
  const folder = makeBenchFolder();
  const own = await makePopulatedSite(join(folder, "berth"), users);
  const copy = join(folder, "ceiling");
  cpSync(own, copy, { recursive: true });
  const berth = await BenchServer.startBerth(own, users);
  const bytes = String(await measureAnswerBytes(berth.url));
  const tables = join(folder, "sqlite");
  mkdirSync(tables);
  return {
    berth,
    ceiling: await BenchServer.startLicenseServer("ceiling", [yardsticks.ceiling], copy, users),
    raw: await BenchServer.startBaseline("raw", [yardsticks.raw, bytes], users),
    elysia: await BenchServer.startBaseline("elysia", [yardsticks.elysia, bytes], users),
    sqlite: await BenchServer.startBaseline("sqlite", [yardsticks.sqlite, bytes, tables], users),
  };
}

/** How long the answer to a heartbeat is. */
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
