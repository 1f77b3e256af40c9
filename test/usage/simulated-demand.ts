// A random history of a site with more demand than slots, in memory: the real rules decide, the
// real tracker makes episodes, and the real collector makes the record. Together with it an
// independent count, which looks only at the state after each command.
import { isAudited } from "../../src/domain/event-catalogue.ts";
import type { Command } from "../../src/domain/decide.ts";
import type { Event } from "../../src/domain/model/event.ts";
import { transact } from "../../src/domain/transact.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { PoolRules } from "../../src/domain/model/rules/rule-set.ts";
import type { SlotCaps } from "../../src/domain/model/rule-context.ts";
import type { State } from "../../src/domain/model/state.ts";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import {
  findDemand,
  isDemandFault,
  listDemandsLeft,
  ruleOf,
} from "../../src/operations/demand/demand-of-command.ts";
import { EpisodeTracker } from "../../src/operations/demand/episode-tracker.ts";
import { collectSiteRecord } from "../support/collect-site-record.ts";
import type { RecordedLine } from "../../src/usage/recorded-line.ts";
import type { SiteRecord } from "../../src/usage/site-record.ts";
import { makeNewSite, makeNextInstall } from "../support/new-site.ts";
import { contextAt } from "../support/rule-context.ts";
import * as scenario from "../support/scenario.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { NaiveFigures } from "./naive-figures.ts";

const USERS = ["ada", "bob", "cy", "dan", "eve", "dan#2", "__proto__", "ada#cam"];
const PEERS = ["10.0.0.1", "10.0.0.2"];
const FLOATING = "view";
const COUNTED = "plot";

export interface DemandOptions {
  /** Whether the clock is set back now and then. */
  readonly setsClockBack: boolean;
  readonly start?: Instant;
  /** In which the independent count tells hours and days. */
  readonly timeZone?: string;
}

export class SimulatedDemand {
  readonly #random: SeededRandom;
  readonly #setsClockBack: boolean;
  readonly #state: State = makeNewSite();
  readonly #tracker = new EpisodeTracker();
  readonly #lines: RecordedLine[] = [];
  readonly naive: NaiveFigures;
  #seq = 0;
  #now: Instant;
  #caps: SlotCaps = { perUser: null, perPeer: null };
  refusals = 0;
  setBacks = 0;

  constructor(
    seed: number,
    { setsClockBack, start = scenario.MONDAY, timeZone = "UTC" }: DemandOptions,
  ) {
    this.#random = new SeededRandom(seed);
    this.#setsClockBack = setsClockBack;
    this.#now = start;
    this.naive = new NaiveFigures(this.#now, timeZone);
    this.#run(this.#makeInstall(1));
    if (this.#random.chance(0.5)) this.#run(this.#makeInstall(2));
  }

  get now(): Instant {
    return this.#now;
  }

  simulate(commands: number): SiteRecord {
    for (let n = 0; n < commands; n += 1) {
      this.#wait();
      this.#step();
    }
    this.#wait();
    this.naive.pass(this.#state, this.#now);
    this.#writeEpisodes();
    this.#tracker.endSilent(later(this.#now, 2 * HOUR));
    this.#writeEpisodes();
    return collectSiteRecord(this.#lines, this.#state, this.#now);
  }

  #step(): void {
    const random = this.#random;
    // A jump that is undone is another rule, which the tests of the usage history cover.
    const clockKinds = this.#setsClockBack ? { jump: 0, setBack: 0.4 } : { jump: 0.3, setBack: 0 };
    const kind = random.pickWeighted({ ...WEIGHTS, ...clockKinds });
    const user = random.pick(USERS);
    const product = random.pick(["cad", "cad", "cam"]);
    // Heartbeats from another address are not in the audit log: each user has one.
    const peer = PEERS[USERS.indexOf(user) % PEERS.length] ?? "";
    const where = { product, contact: { ...scenario.CONTACT, peer } };
    switch (kind) {
      case "register":
        return void this.#run(scenario.register(user, where));
      case "wait":
        if (this.#run(scenario.register(user, where))) return;
        this.#run(makeTakePlace(user, product, peer));
        return;
      case "dispatch":
        return this.#dispatch(product, random.chance(0.1) ? [user] : []);
      case "rules":
        this.#run(makeApplyRules(random));
        return;
      case "borrow":
        return void this.#run(
          scenario.borrow(user, later(this.#now, random.intBetween(1, 30 * HOUR)), where),
        );
      case "unregister":
        return void this.#run(scenario.unregister(user, { product }));
      case "feature":
        return void this.#run(scenario.registerFeature(user, FLOATING, { product, peer }));
      case "releaseFeature":
        return void this.#run(scenario.releaseFeature(user, FLOATING, { product }));
      case "consume":
        return void this.#run(
          random.chance(0.5)
            ? scenario.consume(random.intBetween(1, 9), { product })
            : scenario.consumeFeature(COUNTED, random.intBetween(1, 9), { product }),
        );
      case "install":
        return void this.#run(this.#makeInstall(random.pick([1, 2])));
      case "remove":
        return void this.#run(scenario.remove(2, true));
      case "caps":
        this.#caps = {
          perUser: random.pick([null, null, 1]),
          perPeer: random.pick([null, null, 1, 3]),
        };
        return;
      case "episodes":
        this.#tracker.endSilent(this.#now);
        return this.#writeEpisodes();
      case "jump":
        return this.#jump();
      case "setBack":
        return this.#setBack();
      default:
        return kind satisfies never;
    }
  }

  #wait(): void {
    const random = this.#random;
    const length = random.pickWeighted({ none: 3, seconds: 4, minutes: 8, hours: 1, days: 0.1 });
    const [max, unit] = {
      none: [0, 1],
      seconds: [59_999, 1],
      minutes: [20 * 60_000, 1],
      hours: [7, HOUR],
      days: [3, DAY],
    }[length] as [number, number];
    this.#now = later(this.#now, random.intBetween(0, max) * unit);
  }

  /** Decides, journals and tracks a command, in the order in which the server does. */
  #run(command: Command): boolean {
    const at = this.#now;
    this.naive.pass(this.#state, at);
    const context = contextAt(at, { slotCaps: this.#caps });
    const wanted = findDemand(this.#state, command);
    const left = listDemandsLeft(this.#state, command);
    const result = transact(this.#state, command, context);
    if (!result.ok) {
      if (!isDemandFault(result.fault) || wanted === null) return false;
      this.refusals += 1;
      const { code } = result.fault;
      const refusal = { code, rule: ruleOf(result.fault), peer: wanted.peer, at, seq: this.#seq };
      this.#tracker.addRefusal(wanted.demand, refusal, () => true);
      if ("recall" in result.fault && result.fault.recall !== undefined) {
        const { product, feature } = wanted.demand;
        this.#run({ type: "RecallReservation", product, feature, group: result.fault.recall });
      }
      return false;
    }
    for (const events of result.value.journalLines) this.#write(events);
    this.naive.observe(this.#state);
    if (command.type === "AddConsumption" || command.type === "AddFeatureConsumption")
      this.naive.count(
        command.product ?? "",
        command.type === "AddConsumption" ? null : command.feature,
        at,
        command.count,
      );
    if (wanted !== null) this.#tracker.endEpisode(wanted.demand, "granted", at);
    for (const demand of left) this.#tracker.endEpisode(demand, "left", at);
    return true;
  }

  #write(events: readonly Event[]): void {
    this.#seq += 1;
    const at = events.at(-1)?.at ?? this.#now;
    if (events.some(isAudited)) this.#lines.push({ seq: this.#seq, at, events });
  }

  #writeEpisodes(): void {
    const episodes = this.#tracker.takeEnded(1_000);
    if (episodes.length === 0) return;
    this.naive.pass(this.#state, this.#now);
    for (const episode of episodes) this.naive.deny(episode);
    this.#run({ type: "EndEpisodes", episodes });
  }

  #dispatch(product: string, lapsed: readonly string[]): void {
    for (;;) {
      const before = this.#seq;
      this.#run({ type: "Dispatch", product, lapsed });
      if (this.#seq === before) return;
    }
  }

  #jump(): void {
    const from = this.#now;
    const to = later(from, this.#random.pick([2 * MINUTE, 7 * HOUR, 20 * DAY]));
    this.#now = to;
    this.#run({ type: "JumpClock", from, to, reason: "step" });
  }

  #setBack(): void {
    const from = this.#now;
    const back = this.#random.pick([3 * MINUTE, 50 * MINUTE, 6 * HOUR]);
    const to = instant(Math.max(scenario.MONDAY, from - this.#random.intBetween(1, back)));
    if (to === from) return;
    // A slot whose end no line says counts as held until the clock is set back: write the ends.
    for (const { id, terms } of this.#state.licenses.values())
      this.#run(makeNextInstall(this.#state, scenario.install(id, terms)));
    const nonce = "nonce";
    this.#run({ type: "AskClock", nonce, peer: "10.0.0.1" });
    const command = { type: "SetClockBack", to, nonce, peer: "10.0.0.1" } as const;
    const result = transact(this.#state, command, contextAt(from));
    if (!result.ok) throw new Error(`the clock was not set back: ${result.fault.code}`);
    this.setBacks += 1;
    for (const events of result.value.journalLines) this.#write(events);
    this.#now = to;
    this.naive.setBack(to);
    this.naive.observe(this.#state);
  }

  #makeInstall(license: number): Command {
    const random = this.#random;
    const isDated = random.chance(0.2);
    const differing: Partial<Terms> = {
      product: license === 2 ? "cam" : "cad",
      slots: random.intBetween(0, 3),
      timeoutMinutes: random.pick([5, 30, 120]),
      borrowHours: 72,
      enabled: random.chance(0.95),
      validUntil: isDated ? later(this.#now, random.intBetween(1, 90) * HOUR + 7) : null,
      consumption: scenario.consumptionTerms({ max: 20, overages: 1_000_000 }),
      features: [
        scenario.featureTerms(FLOATING, {
          floating: { slots: random.intBetween(0, 2), timeoutMinutes: random.pick([5, 60]) },
          expires: random.chance(0.1) ? later(this.#now, 5 * HOUR + 3) : null,
        }),
        scenario.featureTerms(COUNTED, {
          consumption: scenario.consumptionTerms({ max: null }),
        }),
      ],
    };
    return makeNextInstall(this.#state, scenario.install(license, differing));
  }
}

const WEIGHTS = {
  register: 16,
  wait: 6,
  dispatch: 4,
  rules: 0.6,
  borrow: 1,
  unregister: 4,
  feature: 6,
  releaseFeature: 1,
  consume: 2,
  install: 0.7,
  remove: 0.1,
  caps: 0.5,
  episodes: 3,
};

const makeTakePlace = (user: string, product: string, peer: string): Command => ({
  type: "TakePlace",
  product,
  licenseId: null,
  user,
  facts: { host: scenario.CONTACT.hostname, address: peer, login: null, certificate: null },
  peer,
});

const NO_PATTERNS = { hosts: [], logins: [], certificates: [], networks: [], ignoreCase: false };

/** Rules about users and networks: the host and the login of a refused call are not on record. */
function makeApplyRules(random: SeededRandom): Command {
  const sim = { ...NO_PATTERNS, name: "sim", users: random.pick([["ada"], ["dan*", "eve"]]) };
  const near = { ...NO_PATTERNS, name: "near", users: [], networks: ["10.0.0.1/32"] };
  const groups = [near, sim];
  const limit = () => random.pick([null, null, { line: 1, slots: 1 }, { line: 1, slots: 2 }]);
  const pick = <T>(...items: readonly T[]): T[] => items.filter(() => random.chance(0.3));
  const pools = ["cad", "cam"].flatMap((product) =>
    [null, FLOATING].map((feature): PoolRules => ({
      product,
      feature,
      deny: pick({ line: 1, group: "near" }),
      allowOnly: random.chance(0.1) ? [{ line: 1, group: "sim" }] : null,
      reservations: pick(
        { line: 1, group: "near", slots: 1, idle: random.pick(["keep", "lend"]) },
        { line: 1, group: "sim", slots: random.pick([1, 2]), idle: random.pick(["keep", "lend"]) },
      ),
      eachUser: limit(),
      eachHost: null,
      groupLimits: pick({ line: 1, group: "sim", slots: 1 }),
      borrow: null,
      queue: null,
    })),
  );
  const isEmpty = random.chance(0.2);
  const rules = isEmpty ? { groups: [], pools: [] } : { groups, pools };
  const text = isEmpty ? "" : JSON.stringify(rules);
  const digest = text.length.toString(16);
  return { type: "ApplyRules", text, digest, rules, expected: "*", peer: "10.0.0.1" };
}
