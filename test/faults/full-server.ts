// The compiled binary on a disk that fills up under its clients, again and again.
import { appendFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE } from "../support/patience.ts";
import { counting } from "../support/scenario.ts";
import { makeSite } from "../support/site-folder.ts";
import { Book } from "./full-clients.ts";
import type { SmallDisk } from "./full-mount.ts";
import { within } from "./full-writes.ts";
import { serve, type Served } from "./served.ts";

const CLIENTS = 12;
/** More pages than a batch of all clients takes. */
const MOST_PAGES = 12;
/** Room for many changes, and for a third of the state of so many users. */
const LITTLE_PAGES = 40;
const MANY_USERS = 2_000;

export interface Round {
  readonly broken: readonly string[];
  /** From room to the next change that was granted, in milliseconds. */
  readonly back: number;
  readonly granted: number;
  readonly refused: number;
  readonly reads: number;
}

/** One server on one small disk, with its clients. */
export class FullSite {
  readonly #disk: SmallDisk;
  readonly #port: number;
  readonly #folder: string;
  readonly #book = new Book();
  #server: Served | null = null;

  private constructor(disk: SmallDisk, port: number) {
    this.#disk = disk;
    this.#port = port;
    this.#folder = join(disk.folder, "data");
    this.#book.url = `http://127.0.0.1:${port}`;
  }

  static async on(disk: SmallDisk, port: number): Promise<FullSite> {
    const site = new FullSite(disk, port);
    const terms = { slots: 1_000_000, consumption: counting({ max: null }) };
    await makeSite(site.#folder, terms);
    await site.#start();
    return site;
  }

  /** Fills up under load with so much left, is read, gets room, is killed, and starts again. */
  async round(random: () => number): Promise<Round> {
    const book = this.#book;
    const before = { ...book.counts };
    book.begin(CLIENTS);
    await this.#must("nothing is granted", book.more("granted", 30, PATIENCE));
    this.#disk.fill(Math.floor(random() * MOST_PAGES));
    await this.#must("a full disk is not noticed", book.more("refused", 1, PATIENCE));
    await this.#whileFull();
    await this.#must("changes go on while it is full", book.more("refused", 40, PATIENCE));
    this.#disk.empty();
    const since = performance.now();
    await this.#must("it does not notice that there is room", book.more("granted", 1, PATIENCE));
    const back = performance.now() - since;
    await this.#must("it does not go on", book.more("granted", 30, PATIENCE));
    await book.end();
    const { granted, refused, reads } = book.counts;
    await this.#agrees("before the kill");
    await this.#kill();
    await this.#start();
    await this.#agrees("after the kill");
    await book.clear();
    return {
      broken: book.broken.splice(0),
      back,
      granted: granted - before.granted,
      refused,
      reads: reads - before.reads,
    };
  }

  /** A start, or a stop, with the disk full: what it says, and that nothing is lost by it. */
  async edge(how: Edge): Promise<string | null> {
    const book = this.#book;
    book.begin(CLIENTS);
    const users = how === "stop with little room" ? MANY_USERS : 30;
    await this.#must("nothing is granted", book.more("granted", users, PATIENCE));
    const stops = how.startsWith("stop");
    if (how === "stop after a refusal") {
      this.#disk.fill(0);
      await this.#must("a full disk is not noticed", book.more("refused", 1, PATIENCE));
    }
    await book.end();
    const pages = how === "stop with little room" ? LITTLE_PAGES : 0;
    const complaint = stops ? await this.#stopFull(pages) : await this.#startFull(how);
    if (pages > 0) await this.#goOnWithLittle();
    this.#disk.empty();
    await this.#start();
    await this.#agrees(how);
    await book.clear();
    return (
      [...(complaint === null ? [] : [complaint]), ...book.broken.splice(0)].join("; ") || null
    );
  }

  async close(): Promise<void> {
    this.#disk.empty();
    await this.#kill();
  }

  /** What a checkpoint that did not fit has not taken is enough for many changes. */
  async #goOnWithLittle(): Promise<void> {
    await this.#start();
    this.#book.begin(CLIENTS);
    await this.#must(
      "with the room that was left it grants nothing",
      this.#book.more("granted", 30, PATIENCE),
    );
    await this.#book.end();
    await this.#kill();
  }

  async #stopFull(pages: number): Promise<string | null> {
    this.#disk.fill(pages);
    this.#server?.tell();
    const ended = await this.#server?.ended;
    this.#server = null;
    if (ended?.code !== 1) return `it ended with ${ended?.code}: ${ended?.complaint}`;
    return isClear(ended.complaint) ? null : `a stop that could not fold says "${ended.complaint}"`;
  }

  async #startFull(how: Edge): Promise<string | null> {
    await this.#kill();
    if (how === "start with nothing to write the pid to") rmSync(join(this.#folder, "lock"));
    if (how === "start with a torn tail") appendFileSync(this.#newest(), '{"seq":');
    this.#disk.fill(0);
    const server = serve(this.#folder, this.#port);
    this.#server = server;
    if (await server.ready) {
      const { status } = await this.#book.call("/api/v4/license?product=cad");
      await this.#kill();
      return status === 200 ? null : `a license is answered with ${status}`;
    }
    const { code, complaint } = await server.ended;
    this.#server = null;
    return code === 1 && isClear(complaint) ? null : `it ended with ${code}: ${complaint}`;
  }

  async #whileFull(): Promise<void> {
    const { call, broken } = {
      call: (path: string) => this.#book.call(path),
      broken: this.#book.broken,
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
    if (this.#book.broken.length === 0) await this.#book.agrees(when);
  }

  async #must(complaint: string, condition: Promise<boolean>): Promise<void> {
    if (!(await condition)) this.#book.broken.push(complaint);
  }

  async #start(): Promise<void> {
    const server = serve(this.#folder, this.#port);
    this.#server = server;
    if (await server.ready) return;
    throw new Error(`it did not get ready: ${(await server.ended).complaint}`);
  }

  async #kill(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    server?.kill("group");
    if (server !== null) await within(PATIENCE, () => server.hasEnded());
  }

  #newest(): string {
    const names = readdirSync(this.#folder).filter((name) => /^journal-\d+\.jsonl$/.test(name));
    const first = (name: string): number => Number(/\d+/.exec(name)?.[0]);
    return join(this.#folder, names.toSorted((a, b) => first(b) - first(a))[0] ?? "");
  }
}

export const EDGES = {
  stop: "a stop before anybody has noticed",
  "stop after a refusal": "a stop after a refusal",
  "stop with little room": "a stop with room for changes, but for no checkpoint",
  start: "a start",
  "start with nothing to write the pid to": "a start that cannot leave its pid",
  "start with a torn tail": "a start that has a torn tail to put aside",
} as const;

export type Edge = keyof typeof EDGES;

/** It is said that room is what is missing. */
const isClear = (complaint: string): boolean =>
  /^berth: (?:error|warning): /m.test(complaint) && /no space|full|room/i.test(complaint);
