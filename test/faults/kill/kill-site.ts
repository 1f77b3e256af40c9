// One data folder through many lives: a server is started on it, spoken to by many at once and
// killed, again and again, with all that is known of it kept here.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { consumptionTerms, featureTerms } from "../../support/scenario.ts";
import { PATIENCE } from "../../support/patience.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { COUNTING_FEATURE, FLOATING_FEATURE, PRODUCT, type ServerRun } from "./calls.ts";
import { KillClient } from "./client.ts";
import { checkState } from "./state-check.ts";
import type { KillPoint, KillResults } from "./results.ts";
import { ExpectedState } from "./expected-state.ts";
import { readRepeatedly, reconcileAfterRestart } from "./readers.ts";
import { checkAuditLog, readAuditLog } from "./audit-log-check.ts";
import { startServer, type ServerProcess } from "../shared/server-process.ts";

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

export class KillSite {
  readonly path: string;
  readonly #port: number;
  readonly #random: () => number;
  readonly #figures: KillResults;
  readonly #name: string;
  readonly #clients: readonly KillClient[];
  readonly #ledger: ExpectedState;
  /** How long it takes to start and to stop here, as seen so far. */
  #startTime = 60;
  #stopTime = 150;
  #lives = 0;
  #lastEnding = "nothing";

  constructor(path: string, port: number, random: () => number, figures: KillResults) {
    this.path = path;
    this.#port = port;
    this.#random = random;
    this.#figures = figures;
    this.#name = figures.context;
    const ledger = (): ExpectedState => this.#ledger;
    this.#clients = Array.from(
      { length: CLIENTS },
      (_, index) => new KillClient(index, USERS_EACH, ledger, figures, random),
    );
    this.#ledger = new ExpectedState(this.#clients.flatMap(({ users }) => users));
  }

  /** With a license for everything that is tried, and nothing in it that runs out meanwhile. */
  async create(): Promise<void> {
    await makeLicensedSite(this.path, {
      product: PRODUCT,
      slots: SLOTS,
      timeoutMinutes: 24 * 60,
      borrowHours: 1_000,
      consumption: consumptionTerms({ max: null }),
      features: [
        featureTerms(FLOATING_FEATURE, {
          floating: { slots: FEATURE_SLOTS, timeoutMinutes: 24 * 60 },
        }),
        featureTerms(COUNTING_FEATURE, { consumption: consumptionTerms({ max: null }) }),
      ],
    });
  }

  /** One life, ended in this way. */
  async runAndKill(ending: Exclude<KillPoint, "first" | "late">): Promise<void> {
    this.#next(ending);
    const served = startServer(this.path, this.#port);
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
    if (ending === "answer") life.onAnswer = killAfter(1 + Math.floor(this.#random() * ANSWERS));
    if (ending === "read")
      life.onEarlyRead = killAfter(1 + Math.floor(this.#random() * EARLY_READS));
    const load = this.#load(life);
    if (ending === "load") {
      await Bun.sleep(this.#random() * LOAD);
      this.#kill(life, served, "group");
    } else if (ending === "answer" || ending === "read") {
      const isReached = await within(ending === "answer" ? PATIENCE : CALM, reached);
      if (!isReached) this.#kill(life, served, "group");
      if (!isReached && ending === "answer")
        this.#figures.recordViolation("answers", "no answer came");
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
  async runToCleanStop(): Promise<void> {
    this.#next("a clean stop");
    const served = startServer(this.path, this.#port);
    const life = await this.#begin(served, false);
    if (life === null) return;
    const load = this.#load(life);
    await Bun.sleep(LOAD);
    life.isOver = true;
    await load;
    life.isEnding = true;
    served.terminate();
    if (!(await within(PATIENCE, served.exited))) served.kill("group");
    const { code, stderr } = await served.exited;
    if (code !== 0)
      return this.#figures.recordViolation("stops", `it ended with ${code}: ${stderr}`);
    this.#figures.counts.cleanStops += 1;
    const state = checkState(this.path, this.#ledger, this.#figures);
    checkAuditLog(this.path, state, this.#ledger, this.#figures);
  }

  #next(ending: string): void {
    this.#lives += 1;
    const lives = `life ${this.#lives} after ${this.#lastEnding}, to end by ${ending}`;
    this.#figures.context = `${this.#name}, ${lives}`;
    this.#lastEnding = ending;
  }

  /** Waits until it serves, and compares all that is there; null when it does not serve. */
  async #begin(served: ServerProcess, padded: boolean): Promise<ServerRun | null> {
    const started = performance.now();
    if (!(await within(PATIENCE, served.ready)) || !(await served.ready)) {
      served.kill("group");
      const { code, stderr } = await served.exited;
      this.#figures.recordViolation(
        "starts",
        `it ended with ${code ?? "a kill, too late"}: ${stderr}`,
      );
      return null;
    }
    this.#startTime += (performance.now() - started - this.#startTime) / 10;
    this.#figures.counts.starts += 1;
    const life: ServerRun = {
      url: served.url,
      usesLongTexts: padded,
      isOver: false,
      isEnding: false,
      onAnswer() {},
      onEarlyRead() {},
    };
    await reconcileAfterRestart(life, this.#ledger, this.#figures, (which, counted) => {
      for (const client of this.#clients) client.reconcileCount(which, counted);
    });
    return life;
  }

  async #load(life: ServerRun): Promise<void> {
    const clients = this.#clients.map((client) => client.run(life));
    await Promise.all([...clients, readRepeatedly(life, this.#ledger, this.#figures)]);
  }

  #kill(life: ServerRun, served: ServerProcess, whom: "server" | "group"): void {
    life.isEnding = true;
    if (served.hasExited()) this.#figures.recordViolation("starts", "it ended by itself");
    served.kill(whom);
    life.isOver = true;
  }

  /** Tells it to end, and kills it while it does, or not: sometimes it is quicker. */
  async #stop(life: ServerRun, served: ServerProcess, whom: "server" | "group"): Promise<void> {
    life.isEnding = true;
    life.isOver = true;
    const told = performance.now();
    served.terminate();
    await Promise.race([Bun.sleep(this.#random() * this.#stopTime), served.exited]);
    const took = performance.now() - told;
    // So that one in a few is quicker than the kill, on any machine.
    this.#stopTime = served.hasExited() ? (this.#stopTime + took * 1.3) / 2 : this.#stopTime * 1.1;
    served.kill(whom);
  }

  async #rotated(served: ServerProcess): Promise<void> {
    const newest = (): number =>
      Math.max(
        ...readdirSync(this.path).map((name) =>
          Number(/^journal-(\d+)\.jsonl$/.exec(name)?.[1] ?? 0),
        ),
      );
    const before = newest();
    const deadline = performance.now() + PATIENCE;
    while (newest() <= before && !served.hasExited() && performance.now() < deadline) {
      await Bun.sleep(2);
    }
  }

  async #ended(served: ServerProcess, ending: KillPoint): Promise<void> {
    const { code, stderr } = await served.exited;
    if (stderr.includes("interrupted write")) this.#figures.counts.tornTails += 1;
    if (code === null) {
      this.#figures.killsByPoint[ending] += 1;
      if (this.#isOrphaned()) this.#figures.counts.orphans += 1;
      return;
    }
    if (code !== 0)
      return this.#figures.recordViolation("stops", `it ended with ${code}: ${stderr}`);
    this.#figures.counts.cleanStops += 1;
    checkState(this.path, this.#ledger, this.#figures);
    readAuditLog(this.path, this.#ledger, this.#figures);
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
