// One data folder through many lives: a server is started on it, spoken to by many at once and
// killed, again and again, with all that is known of it kept here.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { counting, feature } from "../support/scenario.ts";
import { PATIENCE } from "../support/patience.ts";
import { makeSite } from "../support/site-folder.ts";
import { COUNTING, FLOATING, PRODUCT, type Life } from "./kill-calls.ts";
import { Client } from "./kill-clients.ts";
import { checkState } from "./kill-disk.ts";
import type { Ending, Figures } from "./kill-figures.ts";
import { Ledger } from "./kill-ledger.ts";
import { read, settle } from "./kill-readers.ts";
import { checkRecord, readRecord } from "./kill-record.ts";
import { serve, type Served } from "./served.ts";

const CLIENTS = 12;
const USERS_EACH = 4;
/** Too few for everybody: some must be refused. */
const SLOTS = 40;
const FEATURE_SLOTS = 20;

/** How long a load lasts at most, in milliseconds. */
const LOAD = 60;
const ANSWERS = 200;
const EARLY_READS = 10;
/** From a new segment's first byte to the end of the checkpoint it is made for, and a little more. */
const ROTATION = 300;
/** Long enough for reads to show something early, where they ever do. */
const CALM = 3_000;

export class Folder {
  readonly path: string;
  readonly #port: number;
  readonly #random: () => number;
  readonly #figures: Figures;
  readonly #name: string;
  readonly #clients: readonly Client[];
  readonly #ledger: Ledger;
  /** How long it takes to start and to stop here, as seen so far. */
  #startTime = 60;
  #stopTime = 150;
  #lives = 0;
  #lastEnding = "nothing";

  constructor(path: string, port: number, random: () => number, figures: Figures) {
    this.path = path;
    this.#port = port;
    this.#random = random;
    this.#figures = figures;
    this.#name = figures.place;
    const ledger = (): Ledger => this.#ledger;
    this.#clients = Array.from(
      { length: CLIENTS },
      (_, index) => new Client(index, USERS_EACH, ledger, figures, random),
    );
    this.#ledger = new Ledger(this.#clients.flatMap(({ users }) => users));
  }

  /** With a license for everything that is tried, and nothing in it that runs out meanwhile. */
  async make(): Promise<void> {
    await makeSite(this.path, {
      product: PRODUCT,
      slots: SLOTS,
      timeoutMinutes: 24 * 60,
      borrowHours: 1_000,
      consumption: counting({ max: null }),
      features: [
        feature(FLOATING, { floating: { slots: FEATURE_SLOTS, timeoutMinutes: 24 * 60 } }),
        feature(COUNTING, { consumption: counting({ max: null }) }),
      ],
    });
  }

  /** One life, ended in this way. */
  async live(ending: Exclude<Ending, "first" | "late">): Promise<void> {
    this.#next(ending);
    const served = serve(this.path, this.#port);
    if (ending === "start") {
      await Bun.sleep(this.#random() * this.#startTime * 1.2);
      served.kill("group");
      await this.#ended(served, ending);
      return;
    }
    const life = await this.#begin(served, ending === "rotation");
    if (life === null) return;
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    // In that very instant: whoever was answered too early has nothing on disk yet.
    const killAfter = (times: number) => () => {
      times -= 1;
      if (times !== 0) return;
      this.#kill(life, served, "group");
      reach();
    };
    if (ending === "answer") life.heard = killAfter(1 + Math.floor(this.#random() * ANSWERS));
    if (ending === "read") life.sawEarly = killAfter(1 + Math.floor(this.#random() * EARLY_READS));
    const load = this.#load(life);
    if (ending === "load") {
      await Bun.sleep(this.#random() * LOAD);
      this.#kill(life, served, "group");
    } else if (ending === "answer" || ending === "read") {
      const isReached = await within(ending === "answer" ? PATIENCE : CALM, reached);
      if (!isReached) this.#kill(life, served, "group");
      if (!isReached && ending === "answer") this.#figures.break("answers", "no answer came");
    } else if (ending === "rotation") {
      await this.#rotated(served);
      await Bun.sleep(this.#random() * ROTATION);
      this.#kill(life, served, this.#random() < 0.5 ? "group" : "server");
    } else {
      await Bun.sleep((this.#random() * LOAD) / 2);
      await this.#stop(life, served, ending === "orphan" ? "server" : "group");
    }
    await load;
    await this.#ended(served, ending);
  }

  /** The last life: nobody is cut off, and what is left on disk is compared to the last bit. */
  async finish(): Promise<void> {
    this.#next("a clean stop");
    const served = serve(this.path, this.#port);
    const life = await this.#begin(served, false);
    if (life === null) return;
    const load = this.#load(life);
    await Bun.sleep(LOAD);
    life.over = true;
    await load;
    life.ending = true;
    served.tell();
    if (!(await within(PATIENCE, served.ended))) served.kill("group");
    const { code, complaint } = await served.ended;
    if (code !== 0) return this.#figures.break("stops", `it ended with ${code}: ${complaint}`);
    this.#figures.of.cleanStops += 1;
    const state = checkState(this.path, this.#ledger, this.#figures);
    checkRecord(this.path, state, this.#ledger, this.#figures);
  }

  #next(ending: string): void {
    this.#lives += 1;
    const lives = `life ${this.#lives} after ${this.#lastEnding}, to end by ${ending}`;
    this.#figures.place = `${this.#name}, ${lives}`;
    this.#lastEnding = ending;
  }

  /** Waits until it serves, and compares all that is there; null when it does not serve. */
  async #begin(served: Served, padded: boolean): Promise<Life | null> {
    const started = performance.now();
    if (!(await within(PATIENCE, served.ready)) || !(await served.ready)) {
      served.kill("group");
      const { code, complaint } = await served.ended;
      this.#figures.break("starts", `it ended with ${code ?? "a kill, too late"}: ${complaint}`);
      return null;
    }
    this.#startTime += (performance.now() - started - this.#startTime) / 10;
    this.#figures.of.starts += 1;
    const life: Life = {
      url: served.url,
      padded,
      over: false,
      ending: false,
      heard() {},
      sawEarly() {},
    };
    await settle(life, this.#ledger, this.#figures, (which, counted) => {
      for (const client of this.#clients) client.settled(which, counted);
    });
    return life;
  }

  async #load(life: Life): Promise<void> {
    const clients = this.#clients.map((client) => client.run(life));
    await Promise.all([...clients, read(life, this.#ledger, this.#figures)]);
  }

  #kill(life: Life, served: Served, whom: "server" | "group"): void {
    life.ending = true;
    if (served.hasEnded()) this.#figures.break("starts", "it ended by itself");
    served.kill(whom);
    life.over = true;
  }

  /** Tells it to end, and kills it while it does, or not: sometimes it is quicker. */
  async #stop(life: Life, served: Served, whom: "server" | "group"): Promise<void> {
    life.ending = true;
    life.over = true;
    const told = performance.now();
    served.tell();
    await Promise.race([Bun.sleep(this.#random() * this.#stopTime), served.ended]);
    const took = performance.now() - told;
    // So that one in a few is quicker than the kill, on any machine.
    this.#stopTime = served.hasEnded() ? (this.#stopTime + took * 1.3) / 2 : this.#stopTime * 1.1;
    served.kill(whom);
  }

  async #rotated(served: Served): Promise<void> {
    const newest = (): number =>
      Math.max(
        ...readdirSync(this.path).map((name) =>
          Number(/^journal-(\d+)\.jsonl$/.exec(name)?.[1] ?? 0),
        ),
      );
    const before = newest();
    const deadline = performance.now() + PATIENCE;
    while (newest() <= before && !served.hasEnded() && performance.now() < deadline) {
      await Bun.sleep(2);
    }
  }

  async #ended(served: Served, ending: Ending): Promise<void> {
    const { code, complaint } = await served.ended;
    if (complaint.includes("interrupted write")) this.#figures.of.tornTails += 1;
    if (code === null) {
      this.#figures.kills[ending] += 1;
      if (this.#isOrphaned()) this.#figures.of.orphans += 1;
      return;
    }
    if (code !== 0) return this.#figures.break("stops", `it ended with ${code}: ${complaint}`);
    this.#figures.of.cleanStops += 1;
    checkState(this.path, this.#ledger, this.#figures);
    readRecord(this.path, this.#ledger, this.#figures);
  }

  #isOrphaned(): boolean {
    try {
      const pid = readFileSync(join(this.path, "checkpoint.lock"), "utf8");
      return pid !== "" && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("checkpoint");
    } catch {
      return false;
    }
  }
}

/** Whether it came in time. */
const within = (patience: number, awaited: Promise<unknown>): Promise<boolean> =>
  Promise.race([awaited.then(() => true), Bun.sleep(patience).then(() => false)]);
