// Runs the compiled binary on a small disk that is filled and emptied repeatedly under load.
import { appendFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE } from "../../support/patience.ts";
import { consumptionTerms } from "../../support/scenario.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { CheckedClients } from "./checked-clients.ts";
import type { SmallDisk } from "./small-disk.ts";
import { waitWithin } from "./journal-writes.ts";
import { BrokenPromise } from "../shared/promises.ts";
import { startServer, type ServerProcess } from "../shared/server-process.ts";

const CLIENTS = 12;
/** More pages than one batch of all clients needs. */
const MAX_FREE_PAGES = 12;
/** Space for many changes, but only for a third of the state of `MANY_USERS`. */
const LITTLE_SPACE_PAGES = 40;
const MANY_USERS = 2_000;

export interface RoundResult {
  readonly violations: readonly string[];
  /** Milliseconds from free space to the next granted change. */
  readonly recoveryMs: number;
  readonly granted: number;
  readonly refused: number;
  readonly reads: number;
}

/** One server on one small disk, with its clients. */
export class FullSite {
  readonly #disk: SmallDisk;
  readonly #port: number;
  readonly #folder: string;
  readonly #clients = new CheckedClients();
  #server: ServerProcess | null = null;

  private constructor(disk: SmallDisk, port: number) {
    this.#disk = disk;
    this.#port = port;
    this.#folder = join(disk.folder, "data");
    this.#clients.url = `http://127.0.0.1:${port}`;
  }

  static async start(disk: SmallDisk, port: number): Promise<FullSite> {
    const site = new FullSite(disk, port);
    const terms = { slots: 1_000_000, consumption: consumptionTerms({ max: null }) };
    await makeLicensedSite(site.#folder, terms);
    await site.#start();
    return site;
  }

  /** Fills the disk under load, checks reads, frees space, kills the server and starts it again. */
  async runRound(random: () => number): Promise<RoundResult> {
    const clients = this.#clients;
    const before = { ...clients.counts };
    clients.start(CLIENTS);
    await this.#require(
      "the server grants no change on a disk with free space",
      clients.waitForMore("granted", 30, PATIENCE),
    );
    this.#disk.fill(Math.floor(random() * MAX_FREE_PAGES));
    await this.#require(
      "the server does not notice that the disk is full",
      clients.waitForMore("refused", 1, PATIENCE),
    );
    await this.#checkReadsWhileFull();
    await this.#require(
      "the server grants changes while the disk is full",
      clients.waitForMore("refused", 40, PATIENCE),
    );
    this.#disk.removeBallast();
    const freedAt = performance.now();
    await this.#require(
      "the server does not notice that there is free space again",
      clients.waitForMore("granted", 1, PATIENCE),
    );
    const recoveryMs = performance.now() - freedAt;
    await this.#require(
      "the server stops granting changes after the disk has free space again",
      clients.waitForMore("granted", 30, PATIENCE),
    );
    await clients.stop();
    const { granted, refused, reads } = clients.counts;
    await this.#checkAgreement("before the kill");
    await this.#kill();
    await this.#start();
    await this.#checkAgreement("after the kill");
    await clients.unregisterAll();
    return {
      violations: clients.violations.splice(0),
      recoveryMs,
      granted: granted - before.granted,
      refused,
      reads: reads - before.reads,
    };
  }

  /** Starts or stops the server on a full disk: it must report the full disk and lose nothing. */
  async runEdgeCase(edgeCase: EdgeCase): Promise<string | null> {
    const clients = this.#clients;
    clients.start(CLIENTS);
    const users = edgeCase === "stop with little space" ? MANY_USERS : 30;
    await this.#require(
      "the server grants no change on a disk with free space",
      clients.waitForMore("granted", users, PATIENCE),
    );
    const isStop = edgeCase.startsWith("stop");
    if (edgeCase === "stop after a refusal") {
      this.#disk.fill(0);
      await this.#require(
        "the server does not notice that the disk is full",
        clients.waitForMore("refused", 1, PATIENCE),
      );
    }
    await clients.stop();
    const pages = edgeCase === "stop with little space" ? LITTLE_SPACE_PAGES : 0;
    const violation = isStop
      ? await this.#stopOnFullDisk(pages)
      : await this.#startOnFullDisk(edgeCase);
    if (pages > 0) await this.#checkChangesWithLittleSpace();
    this.#disk.removeBallast();
    await this.#start();
    await this.#checkAgreement(edgeCase);
    await clients.unregisterAll();
    return (
      [...(violation === null ? [] : [violation]), ...clients.violations.splice(0)].join("; ") ||
      null
    );
  }

  async close(): Promise<void> {
    this.#disk.removeBallast();
    await this.#kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A checkpoint that does not fit leaves the free space to the journal, for many changes. */
  async #checkChangesWithLittleSpace(): Promise<void> {
    await this.#start();
    this.#clients.start(CLIENTS);
    await this.#require(
      "the server grants no change with little free space after a failed checkpoint",
      this.#clients.waitForMore("granted", 30, PATIENCE),
    );
    await this.#clients.stop();
    await this.#kill();
  }

  async #stopOnFullDisk(pages: number): Promise<string | null> {
    this.#disk.fill(pages);
    this.#server?.terminate();
    const exit = await this.#server?.exited;
    this.#server = null;
    if (exit?.code !== 1) return `the stop exited with code ${exit?.code}: ${exit?.stderr}`;
    return namesDiskSpace(exit.stderr)
      ? null
      : `a stop without a checkpoint does not name the disk space: "${exit.stderr}"`;
  }

  async #startOnFullDisk(edgeCase: EdgeCase): Promise<string | null> {
    await this.#kill();
    if (edgeCase === "start without a lock file") rmSync(join(this.#folder, "lock"));
    if (edgeCase === "start with a torn tail") appendFileSync(this.#newestSegment(), '{"seq":');
    this.#disk.fill(0);
    const server = startServer(this.#folder, this.#port);
    this.#server = server;
    if (await server.ready) {
      const { status } = await this.#clients.call("/api/v4/license?product=cad");
      await this.#kill();
      return status === 200
        ? null
        : `reading the license on a full disk was answered with ${status}`;
    }
    const { code, stderr } = await server.exited;
    this.#server = null;
    return code === 1 && namesDiskSpace(stderr)
      ? null
      : `the start exited with code ${code}: ${stderr}`;
  }

  async #checkReadsWhileFull(): Promise<void> {
    const { violations } = this.#clients;
    const health = await this.#clients.call("/api/v4/health");
    const license = await this.#clients.call("/api/v4/license?product=cad");
    if (health.status !== 503 || health.code !== "storage_full") {
      violations.push(`health was answered with ${health.status} ${health.code} on a full disk`);
    }
    if (license.status !== 200) {
      violations.push(`reading the license was answered with ${license.status} on a full disk`);
    }
  }

  async #checkAgreement(context: string): Promise<void> {
    if (this.#clients.violations.length === 0) await this.#clients.checkAgreement(context);
  }

  async #require(violation: string, condition: Promise<boolean>): Promise<void> {
    if (!(await condition)) this.#clients.violations.push(violation);
  }

  async #start(): Promise<void> {
    const server = startServer(this.#folder, this.#port);
    this.#server = server;
    if (await server.ready) return;
    throw new BrokenPromise(`berth serve is not ready: ${(await server.exited).stderr}`);
  }

  async #kill(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    server?.kill("group");
    if (server !== null) await waitWithin(PATIENCE, () => server.hasExited());
  }

  #newestSegment(): string {
    const names = readdirSync(this.#folder).filter((name) => /^journal-\d+\.jsonl$/.test(name));
    const firstSeq = (name: string): number => Number(/\d+/.exec(name)?.[0]);
    return join(this.#folder, names.toSorted((a, b) => firstSeq(b) - firstSeq(a))[0] ?? "");
  }
}

export const EDGE_CASES = {
  stop: "a stop before the full disk is noticed",
  "stop after a refusal": "a stop after a refused change",
  "stop with little space": "a stop with space for changes, but not for a checkpoint",
  start: "a start",
  "start without a lock file": "a start that cannot write its pid",
  "start with a torn tail": "a start with a torn tail to copy",
} as const;

export type EdgeCase = keyof typeof EDGE_CASES;

/** Whether an error or a warning names the disk space. */
const namesDiskSpace = (stderr: string): boolean =>
  /^berth: (?:error|warning): /m.test(stderr) &&
  /no space|full|disk space|on the disk of/i.test(stderr);
