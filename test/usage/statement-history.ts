// A random history of a site through the real store, and an independent count of what a statement
// says: from the state between two commands, never from the audit log.
import { personOf } from "../../src/domain/model/slots/person.ts";
import type { Command } from "../../src/domain/decide.ts";
import type { State } from "../../src/domain/model/state.ts";
import {
  DAY,
  HOUR,
  instant,
  later,
  MINUTE,
  type Instant,
  startOfDay,
} from "../../src/domain/time.ts";
import { readSiteRecord } from "../../src/operations/usage/read-site-record.ts";
import { openHistory } from "../../src/operations/usage/site-history.ts";
import {
  computeStatementFigures,
  type StatementFigures,
} from "../../src/usage/statement/statement-figures.ts";
import { openSite, transactCommand, unwrap, type OpenSite } from "../support/licensed-store.ts";
import { makeNextInstall, VENDOR } from "../support/new-site.ts";
import * as scenario from "../support/scenario.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const USERS = ["ada", "bob", "bob#2", "cy", "__proto__"];

interface Holder {
  readonly pool: string;
  readonly user: string;
  readonly end: number;
}

interface Counter {
  readonly counted: number;
  readonly total: number;
  readonly max: number | null;
}

interface Snapshot {
  readonly at: number;
  readonly products: ReadonlyMap<number, string>;
  readonly holders: readonly Holder[];
  readonly counters: ReadonlyMap<string, Counter>;
}

interface DayCount {
  peak: number;
  slotTime: number;
  readonly people: Set<string>;
  consumption: number;
  overage: number;
}

const poolOf = (license: number, feature: string | null): string =>
  JSON.stringify([license, feature]);

export class StatementHistory {
  readonly #random: SeededRandom;
  readonly #clock = { now: scenario.MONDAY };
  #site: OpenSite;
  #last: Snapshot | null = null;
  readonly #days = new Map<string, DayCount>();
  readonly #installed = new Map<number, string>();
  readonly #denied = new Map<string, number>();
  setBacks = 0;

  static async run(seed: number, commands: number): Promise<StatementHistory> {
    const clock = { now: scenario.MONDAY };
    const site = await openSite({ clock: () => clock.now });
    const history = new StatementHistory(new SeededRandom(seed), site, clock);
    await history.#run(commands);
    return history;
  }

  private constructor(random: SeededRandom, site: OpenSite, clock: { now: Instant }) {
    this.#random = random;
    this.#site = site;
    this.#clock = clock;
  }

  async #run(commands: number): Promise<void> {
    await this.#execute(this.#makeInstall());
    for (let n = 0; n < commands; n += 1) {
      this.#wait();
      const kind = this.#random.pickWeighted(WEIGHTS);
      if (kind === "checkpoint") await this.#site.store.checkpoint();
      else if (kind === "restart") await this.#restart();
      else if (kind === "setBack") await this.#setBack();
      else await this.#execute(this.#makeCommand(kind));
    }
    this.#wait();
    await this.#execute({ type: "MarkClock" });
  }

  /** What the product says, and what was counted here, of all days. */
  async compare(): Promise<{ actual: object; expected: object }> {
    const range = {
      from: startOfDay(scenario.MONDAY),
      to: later(startOfDay(this.#clock.now), 60 * DAY),
    };
    const record = unwrap(await readSiteRecord(openHistory(this.#site.store), null));
    const open = this.#site.store.peek(({ openEpisodes }) => [...openEpisodes.values()]);
    const figures = computeStatementFigures(record, open, VENDOR.vendor, range);
    return { actual: dumpFigures(figures, range.from), expected: this.#dump() };
  }

  #wait(): void {
    const [max, unit] = this.#random.pick([
      [0, 1],
      [59_999, 1],
      [25 * MINUTE, 1],
      [25 * MINUTE, 1],
      [9, HOUR],
      [40, HOUR],
    ] as const);
    this.#clock.now = later(this.#clock.now, this.#random.intBetween(0, max) * unit);
  }

  async #execute(command: Command): Promise<boolean> {
    const result = await transactCommand(this.#site.store, command);
    this.#observe();
    return result.ok;
  }

  #observe(): void {
    const { now } = this.#clock;
    const snapshot = this.#site.store.peek((state) => takeSnapshot(state, now));
    const before = this.#last;
    this.#last = snapshot;
    if (before === null) return;
    this.#addStretch(before, snapshot.at);
    for (const [pool, counter] of snapshot.counters) {
      const { counted = 0, total = 0 } = before.counters.get(pool) ?? {};
      const count = counter.counted - counted;
      if (count === 0) continue;
      const day = this.#dayOf(pool, snapshot.at);
      day.consumption += count;
      const above = (value: number): number =>
        counter.max === null ? 0 : Math.max(0, value - counter.max);
      day.overage += above(counter.total) - above(total);
    }
  }

  /** Nothing but expiries happened since the snapshot. */
  #addStretch({ at, holders, products }: Snapshot, until: number): void {
    if (at >= until) return;
    for (const [license, product] of products) this.#installed.set(license, product);
    for (let from = at; from < until;) {
      const to = Math.min(until, (Math.floor(from / DAY) + 1) * DAY);
      const present = holders.filter(({ end }) => end > from);
      for (const pool of new Set(present.map((holder) => holder.pool))) {
        const ofPool = present.filter((holder) => holder.pool === pool);
        const day = this.#dayOf(pool, from);
        day.peak = Math.max(day.peak, ofPool.length);
        for (const { end, user } of ofPool) {
          day.slotTime += Math.min(end, to) - from;
          day.people.add(personOf(user));
        }
      }
      from = to;
    }
  }

  #dayOf(pool: string, at: number): DayCount {
    const key = `${Math.floor(at / DAY)} ${pool}`;
    let day = this.#days.get(key);
    if (day === undefined) {
      day = { peak: 0, slotTime: 0, people: new Set(), consumption: 0, overage: 0 };
      this.#days.set(key, day);
    }
    return day;
  }

  #dump(): object {
    const days = [...this.#days].map(([key, { peak, slotTime, people, ...sums }]) => [
      key,
      { peak, slotMinutes: Math.round(slotTime / MINUTE), people: people.size, ...sums },
    ]);
    return {
      installed: [...this.#installed].toSorted(([a], [b]) => a - b),
      days: Object.fromEntries(days.filter(([, figures]) => hasUse(figures as object))),
      denied: Object.fromEntries(this.#denied),
    };
  }

  async #restart(): Promise<void> {
    const { folder } = this.#site;
    await this.#site.stop();
    this.#site = await openSite({ clock: () => this.#clock.now, folder });
  }

  /** Only while no slot is held: whose time a slot has then is tested with the site record. */
  async #setBack(): Promise<void> {
    await this.#execute({ type: "UnregisterAll", product: null, peer: "10.0.0.1" });
    while (this.#last?.holders.some(({ end }) => end <= this.#clock.now) ?? false)
      await this.#execute({ type: "SettleExpiries", vendor: VENDOR.vendor });
    // A set-back moves the beginning of open episodes.
    const hasEpisodes = this.#site.store.peek(({ openEpisodes }) => openEpisodes.size > 0);
    if (hasEpisodes || (this.#last?.holders.length ?? 0) > 0) return;
    const to = instant(
      Math.max(scenario.MONDAY, this.#clock.now - this.#random.intBetween(1, 50) * HOUR),
    );
    await this.#execute({ type: "AskClock", nonce: "nonce", peer: "10.0.0.1" });
    const command = { type: "SetClockBack", to, nonce: "nonce", peer: "10.0.0.1" } as const;
    unwrap(await transactCommand(this.#site.store, command));
    this.setBacks += 1;
    this.#clock.now = to;
    const { now } = this.#clock;
    this.#last = this.#site.store.peek((state) => takeSnapshot(state, now));
  }

  #makeInstall(): Command {
    const random = this.#random;
    const license = random.intBetween(1, 3);
    const differing = {
      product: license === 3 ? "cam" : "cad",
      slots: random.intBetween(0, 3),
      timeoutMinutes: random.pick([5, 30, 600]),
      consumption: scenario.consumptionTerms({
        max: random.pick([null, 3, 20]),
        overages: 1_000,
        negative: true,
      }),
      features: [
        scenario.featureTerms("view", {
          floating: { slots: random.intBetween(0, 2), timeoutMinutes: random.pick([5, 60]) },
        }),
        scenario.featureTerms("plot", {
          consumption: scenario.consumptionTerms({ max: 5, overages: 1_000, negative: true }),
        }),
      ],
    };
    return this.#site.store.peek((state) =>
      makeNextInstall(state, scenario.install(license, differing)),
    );
  }

  #makeCommand(kind: Exclude<keyof typeof WEIGHTS, "checkpoint" | "restart" | "setBack">): Command {
    const random = this.#random;
    const user = random.pick(USERS);
    const where = { product: random.pick(["cad", "cad", "cam"]) };
    switch (kind) {
      case "register":
        return scenario.register(user, where);
      case "unregister":
        return scenario.unregister(user, where);
      case "borrow": {
        const until = later(this.#clock.now, random.intBetween(1, 20 * HOUR));
        return scenario.borrow(user, until, where);
      }
      case "feature":
        return scenario.registerFeature(user, "view", where);
      case "releaseFeature":
        return scenario.releaseFeature(user, "view", where);
      case "consume":
        return random.chance(0.5)
          ? scenario.consume(random.intBetween(-2, 9), where)
          : scenario.consumeFeature("plot", random.intBetween(-1, 9), where);
      case "install":
        return this.#makeInstall();
      case "remove":
        return scenario.remove(random.intBetween(1, 3), true);
      case "settle":
        return { type: "SettleExpiries", vendor: VENDOR.vendor };
      case "episode":
        return this.#makeEpisode(where.product, user);
      default:
        return kind satisfies never;
    }
  }

  #makeEpisode(product: string, user: string): Command {
    const at = this.#clock.now;
    const feature = this.#random.pick([null, "view"]);
    const isInstalled = this.#site.store.peek((state) => state.products.has(product));
    const episode = scenario.deniedEpisode({ product, feature, user, firstAt: at, lastAt: at });
    const isOpen = this.#site.store.peek(({ openEpisodes }) =>
      [...openEpisodes.values()].some(
        (open) => open.product === product && open.feature === feature && open.user === user,
      ),
    );
    if (!isInstalled || isOpen) return { type: "MarkClock" };
    const key = `${Math.floor(at / DAY)} ${JSON.stringify([product, feature])}`;
    const id = `${key} ${user} ${at}`;
    if (!this.#countedEpisodes.has(id)) this.#denied.set(key, (this.#denied.get(key) ?? 0) + 1);
    this.#countedEpisodes.add(id);
    return this.#random.chance(0.5)
      ? { type: "ObserveEpisodes", episodes: [episode] }
      : { type: "EndEpisodes", episodes: [{ ...episode, outcome: "gave_up", endedAt: at }] };
  }

  readonly #countedEpisodes = new Set<string>();
}

const WEIGHTS = {
  register: 12,
  unregister: 4,
  borrow: 3,
  feature: 5,
  releaseFeature: 1,
  consume: 4,
  install: 2,
  remove: 0.4,
  episode: 2,
  settle: 0.5,
  checkpoint: 1,
  restart: 0.5,
  setBack: 0.5,
};

function takeSnapshot(state: State, now: Instant): Snapshot {
  const holders: Holder[] = [];
  const counters = new Map<string, Counter>();
  for (const { id, terms, pool, counter, features } of state.licenses.values()) {
    const own = poolOf(id, null);
    for (const { user, end } of pool.inSlotOrder()) holders.push({ pool: own, user, end });
    counters.set(own, { ...counter, max: terms.consumption?.max ?? null });
    for (const [code, feature] of features) {
      const name = poolOf(id, code);
      for (const { user, end } of feature.pool.inSlotOrder())
        holders.push({ pool: name, user, end });
      counters.set(name, { ...feature.counter, max: feature.terms.consumption?.max ?? null });
    }
  }
  const products = new Map([...state.licenses].map(([id, { terms }]) => [id, terms.product]));
  return { at: now, products, holders, counters };
}

const hasUse = (figures: object): boolean => Object.values(figures).some((value) => value !== 0);

/** The figures in the form of the independent count. */
function dumpFigures({ licenses, denied }: StatementFigures, from: Instant): object {
  const firstDay = Math.floor(from / DAY);
  const days = licenses.flatMap(({ license, pools }) =>
    pools.flatMap(({ feature, peak, slotMinutes, people, consumption, overage }) =>
      peak.map((_, index) => [
        `${firstDay + index} ${poolOf(license, feature)}`,
        {
          peak: peak[index] ?? 0,
          slotMinutes: slotMinutes[index] ?? 0,
          people: people[index] ?? 0,
          consumption: consumption[index] ?? 0,
          overage: overage[index] ?? 0,
        },
      ]),
    ),
  );
  const refused = denied.flatMap(({ product, feature, episodes }) =>
    episodes.flatMap((count, index) =>
      count === 0 ? [] : [[`${firstDay + index} ${JSON.stringify([product, feature])}`, count]],
    ),
  );
  return {
    installed: licenses.map(({ license, product }) => [license, product]),
    days: Object.fromEntries(days.filter(([, figures]) => hasUse(figures as object))),
    denied: Object.fromEntries(refused),
  };
}
