// Commands from a seed: what a busy site would send, and what nobody would. The model is looked at
// while they are made, so that they often fall exactly on an end, a start or a reset.
import type { Command } from "../../src/domain/command.ts";
import type { JumpReason } from "../../src/domain/clock-jump-types.ts";
import type { ConsumptionTerms, FeatureTerms, Terms } from "../../src/domain/terms.ts";
import {
  DAY,
  HOUR,
  instant,
  MINUTE,
  findNextPeriodStart,
  SECOND,
  type Instant,
  type Period,
} from "../../src/domain/time.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { answerTo, makeRequestCommand } from "../support/new-site.ts";
import {
  borrow,
  consume,
  consumeFeature,
  featureTerms,
  MONDAY,
  register,
  registerFeature,
  releaseFeature,
  remove,
  renew,
  unregister,
  unregisterAll,
} from "../support/scenario.ts";
import { REQUEST_LIFETIME } from "./license-rules.ts";
import { latestBorrowEnd, computeSlotEnd, isHeld, type SlotRecord } from "./records.ts";
import type { ModelSite } from "./site.ts";

/**
 * Something that happens at an instant of the true time, which nobody but the test knows. A clock
 * that is ahead shows a later one.
 */
export type GeneratedStep = { readonly at: Instant } &
  /** Of a borrow: how much later than its instant it is to end. */
  (
    | { readonly command: Command; readonly borrowFor?: number }
    | { readonly jumpBy: number; readonly reason: JumpReason }
    /** Sets the clock back to so far ahead of the true time; 0: right. */
    | { readonly setBackTo: number }
  );

/** How far the clock is ahead of the true time. */
export interface WrongClock {
  ahead: number;
}

const USERS = ["ada", "bob", "cyd", "dee", "constructor", "__proto__"];
const FEATURES = ["view", "render", "__proto__"];
/** Which product each license is of: two of them share one. */
const PRODUCTS: Readonly<Record<number, string>> = {
  1: "cad",
  2: "cad",
  3: "cam",
  4: "constructor",
};
const BUSY_WAITS = { atOnce: 40, minutes: 35, boundary: 22, hours: 2, days: 0.6, months: 0.1 };
const QUIET_WAITS = { atOnce: 30, minutes: 20, boundary: 30, hours: 15, days: 5, months: 0.4 };
const PERIODS: readonly (Period | null)[] = [null, "daily", "weekly", "monthly", "annually"];

type WaitKind = "atOnce" | "minutes" | "boundary" | "hours" | "days" | "months";

export class CommandGenerator {
  readonly #dice: SeededRandom;
  readonly #site: ModelSite;
  readonly #clock: WrongClock;
  /** How often the clock goes wrong, in a hundred steps. */
  readonly #jumps: number;
  readonly #paces: Readonly<Record<WaitKind, number>>;
  #true = MONDAY;
  #serial = 1;
  #request = 0;

  constructor(seed: number, site: ModelSite, clock: WrongClock) {
    this.#dice = new SeededRandom(seed);
    this.#site = site;
    this.#clock = clock;
    this.#paces = this.#dice.pick([BUSY_WAITS, BUSY_WAITS, QUIET_WAITS]);
    this.#jumps = this.#dice.pick([0, 2, 2, 6]);
  }

  next(): GeneratedStep {
    this.#true = instant(Math.max(this.#true, this.#nextShown() - this.#clock.ahead));
    const at = this.#true;
    const clockStep = this.#clockStep();
    if (clockStep !== null) return { at, ...clockStep };
    const command = this.#command();
    return command.type === "Borrow" && command.until !== null
      ? { at, command, borrowFor: command.until - this.#now }
      : { at, command };
  }

  /** What the clock shows. */
  get #now(): Instant {
    return instant(this.#true + this.#clock.ahead);
  }

  // The clock.

  #clockStep() {
    const dice = this.#dice;
    const { ahead } = this.#clock;
    if (ahead > 0 && dice.chance(0.06)) {
      const isInPart = dice.chance(0.15);
      return { setBackTo: isInPart ? dice.intBelow(ahead) : 0 };
    }
    if (!dice.chance(this.#jumps / 100)) return null;
    const isAimed = dice.chance(0.4);
    const jumpBy = isAimed ? this.#boundary() - this.#now : this.#jumpSize();
    const reason = dice.pick(["start", "step", "held", "accepted"] as const);
    return jumpBy > 0 ? { jumpBy, reason } : null;
  }

  #jumpSize(): number {
    const dice = this.#dice;
    return dice.pick([
      () => dice.intBetween(1, HOUR),
      () => dice.intBetween(1, 24 * HOUR),
      () => dice.intBetween(1, 40 * DAY),
      () => dice.intBetween(1, (dice.chance(0.1) ? 500 : 10) * DAY),
    ])();
  }

  // When.

  #nextShown(): Instant {
    const dice = this.#dice;
    const pace = dice.pickWeighted(this.#paces);
    if (pace === "boundary") return this.#boundary();
    const further = {
      atOnce: () => dice.pick([0, 0, 1, SECOND]),
      minutes: () => dice.intBetween(1, 8 * MINUTE),
      hours: () => dice.intBetween(1, 5 * HOUR),
      days: () => dice.intBetween(1, 5 * DAY),
      months: () => dice.intBetween(20 * DAY, 70 * DAY),
    }[pace]();
    return instant(this.#now + further);
  }

  /** One of the next instants at which something ends, begins or starts again; or right beside. */
  #boundary(): Instant {
    const now = this.#now;
    const far = now + (this.#dice.chance(0.04) ? 400 * DAY : 2 * DAY);
    const later = this.#turningPoints(now).filter((one) => one > now && one < far);
    const near = later.toSorted((one, other) => one - other);
    const chosen = near[Math.min(this.#dice.intBelow(3), near.length - 1)] ?? now;
    return instant(Math.max(now, chosen + this.#dice.pick([-1, 0, 0, 0, 1])));
  }

  #turningPoints(now: Instant): number[] {
    const { slots, keys } = this.#site;
    const licenses = this.#site.findInstalledLicenses();
    const ends = slots.flatMap((slot) => [computeSlotEnd(slot), latestBorrowEnd(slot)]);
    const dates = licenses.flatMap(({ terms, features }) => [
      terms.start ?? 0,
      terms.validUntil ?? 0,
      (terms.validUntil ?? 0) + (terms.graceHours ?? 0) * HOUR,
      ...features.map(({ expires }) => expires ?? 0),
    ]);
    const resets = PERIODS.map((period) =>
      period === null ? 0 : findNextPeriodStart(period, now),
    );
    const forgotten = keys.map(({ at }) => at.value + DAY);
    return [...ends, ...dates, ...resets, ...forgotten];
  }

  // What.

  #command(): Command {
    const dice = this.#dice;
    const missing = Object.keys(PRODUCTS).filter((id) =>
      this.#site.findInstalledLicenses().every((license) => license.id !== Number(id)),
    );
    const kind = dice.pickWeighted({
      install: missing.length * 8,
      renew: 3,
      stale: 0.7,
      remove: 0.4,
      register: 26,
      borrow: 16,
      unregister: 8,
      unregisterAll: 0.7,
      registerFeature: 14,
      releaseFeature: 4,
      releaseAllFeatures: 0.5,
      consume: 12,
      consumeFeature: 10,
      mark: 0.5,
    });
    switch (kind) {
      case "install":
        return this.#install(Number(dice.pick(missing)));
      case "renew":
        return this.#renew();
      case "stale":
        return this.#stale();
      case "remove":
        return remove(this.#license(), dice.chance(0.4));
      case "register":
        return register(this.#user(), { ...this.#aim(), contact: this.#contact() });
      case "borrow":
        return borrow(this.#user(), this.#until(), {
          ...this.#aim(),
          contact: this.#contact(),
          once: this.#once(),
          ...this.#ofHolder(0.3, false),
        });
      case "unregister":
        return unregister(this.#user(), {
          ...this.#aim(),
          by: dice.pick(["user", "admin"] as const),
          ...this.#ofHolder(0.6, false),
        });
      case "unregisterAll":
        return unregisterAll(dice.pick([null, "cad", "cam", "nothing"]));
      case "registerFeature":
        return registerFeature(this.#user(), this.#feature(), {
          ...this.#aim(),
          ...this.#ofHolder(0.8, false),
        });
      case "releaseFeature":
        return releaseFeature(this.#user(), this.#feature(), {
          ...this.#aim(),
          ...this.#ofHolder(0.7, true),
        });
      case "releaseAllFeatures":
        return { type: "ReleaseAllFeatures", peer: "10.0.0.1" };
      case "consume":
        return consume(this.#count(), this.#counting());
      case "consumeFeature":
        return consumeFeature(this.#feature(), this.#count(), this.#counting());
      case "mark":
        return { type: "MarkClock" };
    }
  }

  #user(): string | null {
    return this.#dice.chance(0.005) ? null : this.#dice.pick(USERS);
  }

  /** With this probability, somebody who holds such a slot, and what it is of. */
  #ofHolder(probability: number, isOfFeature: boolean) {
    const fits = (slot: SlotRecord) =>
      isHeld(slot, this.#now) && (slot.feature !== null) === isOfFeature;
    const held = this.#site.slots.filter(fits);
    if (held.length === 0 || !this.#dice.chance(probability)) return {};
    const { user, feature, license } = this.#dice.pick(held);
    const aim = { product: license.terms.product, licenseId: null };
    return feature === null ? { user, ...aim } : { user, feature, ...aim };
  }

  #contact() {
    const hostname = this.#dice.pick(["desk", "laptop"]);
    return { hostname, ip: "10.0.0.7", info: "", peer: "10.0.0.7" };
  }

  #feature(): string | null {
    if (this.#dice.chance(0.02)) return this.#dice.pick([null, "unheard-of"]);
    return this.#dice.pick(FEATURES);
  }

  #license(): number {
    return this.#dice.pick([1, 2, 3, 4]);
  }

  #aim() {
    const dice = this.#dice;
    if (dice.chance(0.01)) return { product: "nothing", licenseId: null };
    const installed = this.#site.findInstalledLicenses().map((license) => license.id);
    const id = dice.chance(0.03) || installed.length === 0 ? this.#license() : dice.pick(installed);
    const named = dice.chance(0.1) ? dice.pick([1, 2, 3, 9]) : id;
    const isOnly = new Set(installed.map((one) => PRODUCTS[one])).size === 1;
    const product = dice.chance(isOnly ? 0.5 : 0.02) ? null : (PRODUCTS[id] ?? null);
    return { product, licenseId: dice.chance(0.12) ? named : null };
  }

  /** Mostly some time from now; often what is held already, a little more or less, or too much. */
  #until(): Instant | null {
    const dice = this.#dice;
    const now = this.#now;
    if (dice.chance(0.35)) return null;
    const ends = this.#site.slots.slice(-12).map(latestBorrowEnd);
    const caps = this.#site.findInstalledLicenses().flatMap(({ terms }) => {
      const end = terms.validUntil === null ? [] : [terms.validUntil];
      return [now + (terms.borrowHours ?? 0) * HOUR, ...end];
    });
    const odd = [...ends, ...caps].flatMap((one) => [one, one - 1, one + 60 * SECOND]);
    const wanted = dice.chance(0.5)
      ? dice.pick([...odd, ...odd.map((one) => one + 1), now, now + 1])
      : now + dice.intBetween(-HOUR, 40 * HOUR);
    return instant(wanted);
  }

  #once() {
    const dice = this.#dice;
    if (dice.chance(0.6)) return null;
    return { key: dice.pick(["k1", "__proto__"]), fingerprint: dice.pick(["a", "a", "b"]) };
  }

  #count(): number {
    const dice = this.#dice;
    return dice.chance(0.2) ? dice.intBetween(-4, 0) : dice.intBetween(1, 5);
  }

  #counting() {
    const dice = this.#dice;
    return {
      ...this.#aim(),
      user: dice.chance(0.5) ? null : dice.pick(USERS.slice(0, 3)),
      allowOverages: dice.pick([null, null, true, false]),
      maxOverages: dice.pick([null, null, 0, 1, 3, 100]),
      once: this.#once(),
    };
  }

  // Licenses.

  /** The answer to an open request; where none is open, the request. */
  #install(id: number): Command {
    const { openRequests, answeredRequests } = this.#site;
    const open = openRequests.find(({ at }) => this.#now < at + REQUEST_LIFETIME)?.request;
    if (open === undefined) {
      this.#request += 1;
      return makeRequestCommand(`later request ${this.#request}`);
    }
    const request = this.#dice.chance(0.05) ? (answeredRequests[0] ?? "unheard of") : open;
    return { ...this.#renewalOf(id), answers: answerTo(request) };
  }

  #renew(): Command {
    return this.#renewalOf(this.#license());
  }

  #renewalOf(id: number) {
    this.#serial += 1;
    return renew(id, this.#serial, this.#terms(id));
  }

  /** Something that came in before, once more, or another license under a serial that was used. */
  #stale(): Command {
    const dice = this.#dice;
    const id = this.#license();
    const known = this.#site.licenses.findLast((license) => license.id === id);
    if (known === undefined) return this.#renew();
    const serial = Math.max(1, known.serial - dice.intBelow(2));
    return renew(id, serial, dice.chance(0.5) ? known.terms : this.#terms(id));
  }

  #terms(id: number): Partial<Terms> {
    const dice = this.#dice;
    const codes = FEATURES.filter(() => dice.chance(0.75));
    return {
      product: PRODUCTS[id] ?? "cad",
      enabled: !dice.chance(0.05),
      start: dice.chance(0.1) ? this.#date(-2, 2) : null,
      validUntil: dice.chance(0.3) ? this.#date(-1, 30) : null,
      graceHours: dice.pick([null, null, 0, 1, 48]),
      slots: dice.pick([0, 1, 1, 2, 2, 3, 4]),
      timeoutMinutes: dice.pick([1, 10, 30, 30, 120, 2_000]),
      borrowHours: dice.pick([null, 0, 1, 24, 24, 240, 720]),
      earlyReturn: dice.chance(0.6),
      consumption: dice.chance(0.8) ? this.#consumption() : null,
      features: codes.map((code) => featureTerms(code, this.#featureTerms())),
    };
  }

  #date(from: number, to: number): Instant {
    return instant(this.#true + this.#dice.intBetween(from * DAY, to * DAY));
  }

  #featureTerms(): Partial<FeatureTerms> {
    const dice = this.#dice;
    const floating = { slots: dice.pick([0, 1, 1, 2]), timeoutMinutes: dice.pick([5, 30, 300]) };
    return {
      expires: dice.chance(0.15) ? this.#date(-1, 10) : null,
      floating: dice.chance(0.75) ? floating : null,
      consumption: dice.chance(0.6) ? this.#consumption() : null,
    };
  }

  #consumption(): ConsumptionTerms {
    const dice = this.#dice;
    return {
      max: dice.pick([null, 0, 5, 10, 10, 30]),
      overages: dice.pick([0, 0, 2, 8]),
      negative: dice.chance(0.5),
      period: dice.pick(PERIODS),
    };
  }
}
