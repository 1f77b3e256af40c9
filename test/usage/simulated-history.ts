// A random history of a site: through the real store, with checkpoints and restarts at random
// points, and with a clock that the history sets.
import { rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { ClockJump } from "../../src/domain/model/clock-jump-types.ts";
import type { Command } from "../../src/domain/decide.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import {
  checkpointWithUsage,
  readCheckpoint,
} from "../../src/operations/usage/checkpoint-with-usage.ts";
import { readSiteRecord } from "../../src/operations/usage/read-site-record.ts";
import { openHistory } from "../../src/operations/usage/site-history.ts";
import { updateUsage } from "../../src/operations/usage/update-usage.ts";
import { readPosition } from "../../src/operations/usage/usage-position.ts";
import { UsageReader } from "../../src/operations/usage/usage-reader.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { FIGURE_NAMES, USAGE_STEP, type UsageTable } from "../../src/usage/usage-table.ts";
import type { SiteRecord } from "../../src/usage/site-record.ts";
import { openSite, transactCommand, unwrap, type OpenSite } from "../support/licensed-store.ts";
import { makeNextInstall } from "../support/new-site.ts";
import * as scenario from "../support/scenario.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { NaiveUsage, poolName } from "./naive-usage.ts";

const USERS = ["ada", "bob", "cy", "dan#2", "__proto__"];
const PRODUCTS = ["cad", "cam"];
const FLOATING = "view";
const COUNTED = "plot";

export class SimulatedHistory {
  readonly #random: SeededRandom;
  readonly #clock: { now: Instant } = { now: scenario.MONDAY };
  #jumps: ClockJump[] = [];
  #site: OpenSite;
  #reader: UsageReader;
  #naive: NaiveUsage | null = null;
  /** Borrows make a license time-dependent; then only a signed time sets the clock back. */
  readonly #canBorrow: boolean;
  setBacks = 0;
  checkpoints = 0;

  static async start(seed: number): Promise<SimulatedHistory> {
    const random = new SeededRandom(seed);
    const clock = { now: scenario.MONDAY };
    return new SimulatedHistory(random, clock, await open(clock, () => [], undefined));
  }

  private constructor(random: SeededRandom, clock: { now: Instant }, site: OpenSite) {
    this.#random = random;
    this.#clock = clock;
    this.#site = site;
    this.#reader = new UsageReader(site.store);
    this.#canBorrow = random.chance(0.6);
  }

  get naive(): NaiveUsage {
    if (this.#naive === null) throw new Error("nothing was executed yet");
    return this.#naive;
  }

  async run(commands: number): Promise<void> {
    await this.#execute(this.#makeInstall());
    for (let n = 0; n < commands; n += 1) {
      this.#wait();
      const kind = this.#random.pickWeighted(WEIGHTS);
      if (kind === "checkpoint") await this.#checkpoint();
      else if (kind === "restart") await this.#restart();
      else if (kind === "jump") await this.#jump();
      else if (kind === "setBack") await this.#setBack();
      else await this.#execute(this.#makeCommand(kind));
    }
    this.#wait();
    await this.#execute({ type: "MarkClock" });
  }

  async read(): Promise<UsageTable> {
    const span = { from: instant(0), to: later(this.#clock.now, 3_000 * DAY) };
    return unwrap(await this.#reader.read(span)).table;
  }

  /** The instant after this share of the simulated time. */
  instantAt(share: number): Instant {
    const duration = this.#clock.now - scenario.MONDAY;
    return later(scenario.MONDAY, Math.floor(duration * share));
  }

  async readRecord(from: Instant | null): Promise<SiteRecord> {
    return unwrap(await readSiteRecord(openHistory(this.#site.store), from));
  }

  async readAnew(): Promise<UsageTable> {
    this.#reader = new UsageReader(this.#site.store);
    return this.read();
  }

  async rebuild(): Promise<void> {
    await this.#site.store.checkpoint();
    const { folder } = this.#site;
    await updateUsage(realDisk, folder, await readCheckpoint(realDisk, folder), { rebuilds: true });
  }

  /** How many lines of the audit log the rows of the usage files contain. */
  countRecordedLines(): number {
    const position = readPosition(realDisk, this.#site.folder);
    const first = position?.lines[0]?.from ?? Infinity;
    return (position?.audit_seq ?? 0) - first + 1;
  }

  deleteFiles(): void {
    rmSync(join(this.#site.folder, "usage"), { recursive: true, force: true });
  }

  /** Cuts one of the files at a random byte; false: there is none. */
  tearFile(): boolean {
    const folder = join(this.#site.folder, "usage");
    const names = realDisk.list(folder).filter((name) => name !== "lock");
    if (names.length === 0) return false;
    const path = join(folder, this.#random.pick(names));
    truncateSync(path, this.#random.intBelow(realDisk.stat(path)?.size ?? 0));
    return true;
  }

  checkpoint(): Promise<void> {
    return this.#site.store.checkpoint();
  }

  /** Steps of more than 90 days ago are folded, and could not be compared. */
  get #isEarly(): boolean {
    return this.#clock.now < scenario.MONDAY + 30 * DAY;
  }

  #wait(): void {
    const length = this.#random.pickWeighted({
      none: 2,
      seconds: 3,
      minutes: 8,
      hours: 2,
      days: this.#isEarly ? 0.2 : 0,
    });
    const [max, unit] = {
      none: [0, 1],
      seconds: [59_999, 1],
      minutes: [25 * 60_000, 1],
      hours: [9, HOUR],
      days: [12, DAY],
    }[length] as [number, number];
    this.#clock.now = later(this.#clock.now, this.#random.intBetween(0, max) * unit);
  }

  async #execute(command: Command): Promise<boolean> {
    const at = this.#clock.now;
    const result = await transactCommand(this.#site.store, command);
    this.#observe();
    if (!result.ok) return false;
    if (command.type === "AddConsumption")
      this.naive.count(poolName(command.product ?? "", null), at, "consumed", command.count);
    if (command.type === "AddFeatureConsumption")
      this.naive.count(
        poolName(command.product ?? "", command.feature),
        at,
        "consumed",
        command.count,
      );
    if (command.type === "EndEpisodes") {
      for (const { product, feature, firstAt } of command.episodes)
        this.naive.count(poolName(product, feature), firstAt, "episodes", 1);
    }
    return true;
  }

  #observe(): void {
    this.#site.store.peek((state) => {
      if (this.#naive === null) this.#naive = new NaiveUsage(state, this.#clock.now);
      else this.#naive.observe(state, this.#clock.now);
    });
  }

  async #checkpoint(): Promise<void> {
    this.checkpoints += 1;
    await this.#site.store.checkpoint();
  }

  async #restart(): Promise<void> {
    const { folder } = this.#site;
    await this.#site.stop();
    this.#site = await open(this.#clock, () => this.#jumps, folder);
    this.#reader = new UsageReader(this.#site.store);
  }

  async #jump(): Promise<void> {
    const from = this.#clock.now;
    const longest = this.#isEarly ? 40 * DAY : 7 * HOUR;
    const to = later(from, this.#random.pick([2 * MINUTE, 40 * MINUTE, 7 * HOUR, longest]));
    this.#clock.now = to;
    this.#jumps.push({ from, to, reason: "step" });
    await this.#execute({ type: "JumpClock", from, to, reason: "step" });
    this.naive.jump(from, to);
  }

  async #setBack(): Promise<void> {
    const from = this.#clock.now;
    const back = this.#random.pick([3 * MINUTE, 50 * MINUTE, 6 * HOUR, 39 * DAY]);
    const to = instant(Math.max(scenario.MONDAY, from - this.#random.intBetween(1, back)));
    const nonce = "nonce";
    await this.#execute({ type: "AskClock", nonce, peer: "10.0.0.1" });
    const command = { type: "SetClockBack", to, nonce, peer: "10.0.0.1" } as const;
    const result = await transactCommand(this.#site.store, command);
    if (!result.ok || to === from) throw new Error("the clock was not set back");
    this.setBacks += 1;
    this.#jumps = [];
    this.#clock.now = to;
    this.naive.setBack(from, to);
    this.#observe();
  }

  #makeInstall(): Command {
    const random = this.#random;
    const license = random.intBetween(1, 3);
    const product = license === 3 ? "cam" : "cad";
    const isDated = random.chance(0.3);
    const differing: Partial<Terms> = {
      product,
      slots: random.intBetween(0, 3),
      timeoutMinutes: random.pick([5, 30, 120]),
      borrowHours: this.#canBorrow ? 72 : null,
      enabled: random.chance(0.9),
      start: isDated ? later(this.#clock.now, random.intBetween(-2, 1) * HOUR) : null,
      validUntil: isDated ? later(this.#clock.now, random.intBetween(1, 90) * HOUR + 7) : null,
      graceHours: random.pick([null, 2]),
      consumption: scenario.consumptionTerms({ max: null, negative: true }),
      features: [
        scenario.featureTerms(FLOATING, {
          floating: { slots: random.intBetween(0, 2), timeoutMinutes: random.pick([5, 60]) },
          expires: random.chance(0.2) ? later(this.#clock.now, 5 * HOUR + 3) : null,
        }),
        scenario.featureTerms(COUNTED, {
          consumption: scenario.consumptionTerms({ max: null, negative: true }),
        }),
      ],
    };
    return this.#site.store.peek((state) =>
      makeNextInstall(state, scenario.install(license, differing)),
    );
  }

  #makeCommand(
    kind: Exclude<keyof typeof WEIGHTS, "checkpoint" | "restart" | "jump" | "setBack">,
  ): Command {
    const random = this.#random;
    const user = random.pick(USERS);
    const product = random.pick(["cad", ...PRODUCTS]);
    const where = { product };
    switch (kind) {
      case "register":
        return scenario.register(user, where);
      case "unregister":
        return scenario.unregister(user, where);
      case "borrow":
        return scenario.borrow(
          user,
          later(this.#clock.now, random.intBetween(1, 60 * HOUR)),
          where,
        );
      case "feature":
        return scenario.registerFeature(user, FLOATING, where);
      case "releaseFeature":
        return scenario.releaseFeature(user, FLOATING, where);
      case "takePlace":
        return {
          type: "TakePlace",
          ...where,
          licenseId: random.pick([null, null, 1]),
          user,
          facts: { host: "", address: "10.0.0.7", login: null, certificate: null },
          peer: "10.0.0.7",
        };
      case "dispatch":
        return { type: "Dispatch", product, lapsed: random.chance(0.2) ? [user] : [] };
      case "consume":
        return random.chance(0.5)
          ? scenario.consume(random.intBetween(-2, 9), where)
          : scenario.consumeFeature(COUNTED, random.intBetween(1, 9), where);
      case "install":
        return this.#makeInstall();
      case "remove":
        return scenario.remove(random.intBetween(1, 3), true);
      case "episode": {
        const lastAt = this.#clock.now;
        const firstAt = instant(Math.max(scenario.MONDAY, lastAt - random.intBetween(0, DAY)));
        const feature = random.pick([null, FLOATING]);
        const seqs = { firstSeq: 1, lastSeq: 1, attempts: 2, peer: "10.0.0.7" };
        const demand = { product, feature, user, code: "floating_not_available", rule: null };
        const outcome = { outcome: "gave_up", endedAt: lastAt } as const;
        return {
          type: "EndEpisodes",
          episodes: [{ ...demand, ...seqs, firstAt, lastAt, ...outcome }],
        };
      }
      default:
        return kind satisfies never;
    }
  }
}

const WEIGHTS = {
  register: 12,
  unregister: 4,
  borrow: 3,
  feature: 5,
  releaseFeature: 1,
  takePlace: 4,
  dispatch: 3,
  consume: 3,
  install: 2,
  remove: 0.4,
  episode: 2,
  checkpoint: 3,
  restart: 0.7,
  jump: 0.5,
  setBack: 0.3,
};

const open = (
  clock: { now: Instant },
  jumps: () => readonly ClockJump[],
  folder: string | undefined,
): Promise<OpenSite> =>
  openSite({
    clock: () => clock.now,
    jumps,
    checkpoint: (path, segment) => checkpointWithUsage(realDisk, path, segment),
    ...(folder !== undefined && { folder }),
  });

/** A table as plain data: only figures that are not zero, in a fixed order. */
export const dumpTable = (table: UsageTable) => ({
  observed: table.observed.filter(({ from, to }) => from < to),
  pools: [...table.pools]
    .map(({ product, feature, limits, hours }) => ({
      pool: poolName(product, feature),
      limits,
      steps: [...hours]
        .flatMap(([hour, figures]) =>
          figures.peak.map((_, index) => ({
            step: hour * 12 + index,
            ...Object.fromEntries(FIGURE_NAMES.map((name) => [name, figures[name][index] ?? 0])),
          })),
        )
        .filter((step) =>
          Object.entries(step).some(([name, value]) => name !== "step" && value !== 0),
        )
        .toSorted((a, b) => a.step - b.step),
    }))
    .filter(({ limits, steps }) => limits.length > 0 || steps.length > 0)
    .toSorted((a, b) => (a.pool < b.pool ? -1 : 1)),
});

/** The steps of a table that differ from an independent count, as texts; empty: none. */
export function compareWithNaive(table: UsageTable, naive: NaiveUsage): string[] {
  const differences: string[] = [];
  const allSteps = naive.listSteps();
  const pools = new Map(
    [...table.pools].map((pool) => [poolName(pool.product, pool.feature), pool]),
  );
  const overlap = (span: { from: number; to: number }, step: number): number =>
    Math.max(
      0,
      Math.min(span.to, (step + 1) * USAGE_STEP) - Math.max(span.from, step * USAGE_STEP),
    );
  for (const name of new Set([...pools.keys(), ...naive.pools])) {
    const pool = pools.get(name);
    const steps = new Set(allSteps);
    for (const hour of pool?.hours.keys() ?? []) {
      for (let index = 0; index < 12; index += 1) steps.add(hour * 12 + index);
    }
    for (const step of steps) {
      const figures = pool?.hours.get(Math.floor(step / 12));
      const limits = (pool?.limits ?? []).filter((span) => overlap(span, step) > 0);
      const actual = {
        peak: figures?.peak[step % 12] ?? 0,
        slotTime: figures?.slotTime[step % 12] ?? 0,
        fullTime: figures?.fullTime[step % 12] ?? 0,
        waiting: figures?.waiting[step % 12] ?? 0,
        episodes: figures?.episodes[step % 12] ?? 0,
        consumed: figures?.consumed[step % 12] ?? 0,
        limit: limits.length === 0 ? null : Math.max(...limits.map(({ slots }) => slots)),
        observed: table.observed.reduce((sum, span) => sum + overlap(span, step), 0),
      };
      const expected = naive.countStep(name, step);
      if (JSON.stringify(actual) !== JSON.stringify(expected)) {
        const time = new Date(step * USAGE_STEP).toISOString();
        differences.push(
          `${name} ${time}: ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`,
        );
      }
    }
  }
  return differences;
}
