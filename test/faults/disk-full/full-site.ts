// The compiled binary on a disk that fills up under its clients, again and again.
import { appendFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE } from "../../support/patience.ts";
import { consumptionTerms } from "../../support/scenario.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { CheckedClients } from "./checked-clients.ts";
import type { SmallDisk } from "./small-disk.ts";
import { waitWithin } from "./journal-writes.ts";
import { startServer, type ServerProcess } from "../shared/server-process.ts";

const CLIENTS = 12;
/** More pages than a batch of all clients takes. */
const MOST_PAGES = 12;
/** Room for many changes, and for a third of the state of so many users. */
const LITTLE_PAGES = 40;
const MANY_USERS = 2_000;

export interface RoundResult {
  readonly violations: readonly string[];
  /** From room to the next change that was granted, in milliseconds. */
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
  readonly #book = new CheckedClients();
  #server: ServerProcess | null = null;

  private constructor(disk: SmallDisk, port: number) {
    this.#disk = disk;
    this.#port = port;
    this.#folder = join(disk.folder, "data");
    this.#book.url = `http://127.0.0.1:${port}`;
  }

  static async start(disk: SmallDisk, port: number): Promise<FullSite> {
    const site = new FullSite(disk, port);
    const terms = { slots: 1_000_000, consumption: consumptionTerms({ max: null }) };
    await makeLicensedSite(site.#folder, terms);
    await site.#start();
    return site;
  }

  /** Fills up under load with so much left, is read, gets room, is killed, and starts again. */
  async runRound(random: () => number): Promise<RoundResult> {
    const book = this.#book;
    const before = { ...book.counts };
    book.start(CLIENTS);
    await this.#must("nothing is granted", book.waitForMore("granted", 30, PATIENCE));
    this.#disk.fill(Math.floor(random() * MOST_PAGES));
    await this.#must("a full disk is not noticed", book.waitForMore("refused", 1, PATIENCE));
    await this.#whileFull();
    await this.#must("changes go on while it is full", book.waitForMore("refused", 40, PATIENCE));
    this.#disk.removeBallast();
    const since = performance.now();
    await this.#must(
      "it does not notice that there is room",
      book.waitForMore("granted", 1, PATIENCE),
    );
    const back = performance.now() - since;
    await this.#must("it does not go on", book.waitForMore("granted", 30, PATIENCE));
    await book.stop();
    const { granted, refused, reads } = book.counts;
    await this.#agrees("before the kill");
    await this.#kill();
    await this.#start();
    await this.#agrees("after the kill");
    await book.unregisterAll();
    return {
      violations: book.violations.splice(0),
      recoveryMs: back,
      granted: granted - before.granted,
      refused,
      reads: reads - before.reads,
    };
  }

  /** A start, or a stop, with the disk full: what it says, and that nothing is lost by it. */
  async runEdgeCase(how: EdgeCase): Promise<string | null> {
    const book = this.#book;
    book.start(CLIENTS);
    const users = how === "stop with little room" ? MANY_USERS : 30;
    await this.#must("nothing is granted", book.waitForMore("granted", users, PATIENCE));
    const stops = how.startsWith("stop");
    if (how === "stop after a refusal") {
      this.#disk.fill(0);
      await this.#must("a full disk is not noticed", book.waitForMore("refused", 1, PATIENCE));
    }
    await book.stop();
    const pages = how === "stop with little room" ? LITTLE_PAGES : 0;
    const complaint = stops ? await this.#stopFull(pages) : await this.#startFull(how);
    if (pages > 0) await this.#goOnWithLittle();
    this.#disk.removeBallast();
    await this.#start();
    await this.#agrees(how);
    await book.unregisterAll();
    return (
      [...(complaint === null ? [] : [complaint]), ...book.violations.splice(0)].join("; ") || null
    );
  }

  async close(): Promise<void> {
    this.#disk.removeBallast();
    await this.#kill();
  }

  /** What a checkpoint that did not fit has not taken is enough for many changes. */
  async #goOnWithLittle(): Promise<void> {
    await this.#start();
    this.#book.start(CLIENTS);
    await this.#must(
      "with the room that was left it grants nothing",
      this.#book.waitForMore("granted", 30, PATIENCE),
    );
    await this.#book.stop();
    await this.#kill();
  }

  async #stopFull(pages: number): Promise<string | null> {
    this.#disk.fill(pages);
    this.#server?.terminate();
    const ended = await this.#server?.exited;
    this.#server = null;
    if (ended?.code !== 1) return `it ended with ${ended?.code}: ${ended?.stderr}`;
    return namesDiskSpace(ended.stderr)
      ? null
      : `a stop that could not fold says "${ended.stderr}"`;
  }

  async #startFull(how: EdgeCase): Promise<string | null> {
    await this.#kill();
    if (how === "start with nothing to write the pid to") rmSync(join(this.#folder, "lock"));
    if (how === "start with a torn tail") appendFileSync(this.#newest(), '{"seq":');
    this.#disk.fill(0);
    const server = startServer(this.#folder, this.#port);
    this.#server = server;
    if (await server.ready) {
      const { status } = await this.#book.call("/api/v4/license?product=cad");
      await this.#kill();
      return status === 200 ? null : `a license is answered with ${status}`;
    }
    const { code, stderr } = await server.exited;
    this.#server = null;
    return code === 1 && namesDiskSpace(stderr) ? null : `it ended with ${code}: ${stderr}`;
  }

  async #whileFull(): Promise<void> {
    const { call, broken } = {
      call: (path: string) => this.#book.call(path),
      broken: this.#book.violations,
    };
    const [health, license] = [
      await call("/api/v4/health"),
      await call("/api/v4/license?product=cad"),
    ];
    if (health.status !== 503 || health.code !== "storage_full") {
      broken.push(`health is answered ${health.status} ${health.code} while the disk is full`);
    }
    if (license.status !== 200) broken.push(`a license is answered ${license.status} while full`);
  }

  async #agrees(when: string): Promise<void> {
    if (this.#book.violations.length === 0) await this.#book.checkAgreement(when);
  }

  async #must(complaint: string, condition: Promise<boolean>): Promise<void> {
    if (!(await condition)) this.#book.violations.push(complaint);
  }

  async #start(): Promise<void> {
    const server = startServer(this.#folder, this.#port);
    this.#server = server;
    if (await server.ready) return;
    throw new Error(`it did not get ready: ${(await server.exited).stderr}`);
  }

  async #kill(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    server?.kill("group");
    if (server !== null) await waitWithin(PATIENCE, () => server.hasExited());
  }

  #newest(): string {
    const names = readdirSync(this.#folder).filter((name) => /^journal-\d+\.jsonl$/.test(name));
    const first = (name: string): number => Number(/\d+/.exec(name)?.[0]);
    return join(this.#folder, names.toSorted((a, b) => first(b) - first(a))[0] ?? "");
  }
}

export const EDGE_CASES = {
  stop: "a stop before anybody has noticed",
  "stop after a refusal": "a stop after a refusal",
  "stop with little room": "a stop with room for changes, but for no checkpoint",
  start: "a start",
  "start with nothing to write the pid to": "a start that cannot leave its pid",
  "start with a torn tail": "a start that has a torn tail to put aside",
} as const;

export type EdgeCase = keyof typeof EDGE_CASES;

/** It is said that room is what is missing. */
const namesDiskSpace = (complaint: string): boolean =>
  /^berth: (?:error|warning): /m.test(complaint) && /no space|full|room/i.test(complaint);
