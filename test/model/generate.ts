// Commands from a seed, both those of a busy site and unusual ones. The generator reads the model,
// so that commands often fall exactly on an end, a start or a reset.
import type { Command } from "../../src/domain/decide.ts";
import type { Borrow } from "../../src/domain/slots/borrow.ts";
import type { JumpReason } from "../../src/domain/model/clock-jump-types.ts";
import type {
  ConsumptionTerms,
  FeatureTerms,
  Terms,
} from "../../src/domain/model/licenses/terms.ts";
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
import { makeContact } from "../support/contact.ts";

/**
 * A step at an instant of the true time, which only the test knows. A clock that is ahead shows a
 * later instant.
 */
export type GeneratedStep = { readonly at: Instant } &
  /** For a borrow: its requested duration. */
  (
    | { readonly command: Command; readonly borrowFor?: number }
    | { readonly jumpBy: number; readonly reason: JumpReason }
    /** How far ahead of the true time the clock is set; 0 is right. */
    | { readonly setBackTo: number }
  );

/** How far the clock is ahead of the true time. */
export interface WrongClock {
  ahead: number;
}

const USERS = ["ada", "bob", "cyd", "dee", "constructor", "__proto__"];
const FEATURES = ["view", "render", "__proto__"];
/** The product of each license; two licenses share one. */
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
  readonly #random: SeededRandom;
  readonly #site: ModelSite;
  readonly #clock: WrongClock;
  /** How often the clock goes wrong, in a hundred steps. */
  readonly #jumpsPerHundred: number;
  readonly #waits: Readonly<Record<WaitKind, number>>;
  #trueTime = MONDAY;
  #serial = 1;
  #requestCount = 0;
  #lastBorrow: Borrow | null = null;

  constructor(seed: number, site: ModelSite, clock: WrongClock) {
    this.#random = new SeededRandom(seed);
    this.#site = site;
    this.#clock = clock;
    this.#waits = this.#random.pick([BUSY_WAITS, BUSY_WAITS, QUIET_WAITS]);
    this.#jumpsPerHundred = this.#random.pick([0, 2, 2, 6]);
  }

  next(): GeneratedStep {
    this.#trueTime = instant(Math.max(this.#trueTime, this.#nextClockTime() - this.#clock.ahead));
    const at = this.#trueTime;
    const clockStep = this.#makeClockStep();
    if (clockStep !== null) return { at, ...clockStep };
    const command = this.#makeCommand();
    return command.type === "Borrow" && command.until !== null
      ? { at, command, borrowFor: command.until - this.#now }
      : { at, command };
  }

  /** The time that the clock shows. */
  get #now(): Instant {
    return instant(this.#trueTime + this.#clock.ahead);
  }

  // Clock steps.

  #makeClockStep() {
    const random = this.#random;
    const { ahead } = this.#clock;
    if (ahead > 0 && random.chance(0.06)) {
      const isPartial = random.chance(0.15);
      return { setBackTo: isPartial ? random.intBelow(ahead) : 0 };
    }
    if (!random.chance(this.#jumpsPerHundred / 100)) return null;
    const isAimed = random.chance(0.4);
    const jumpBy = isAimed ? this.#pickBoundary() - this.#now : this.#pickJumpSize();
    const reason = random.pick(["start", "step", "held", "accepted"] as const);
    return jumpBy > 0 ? { jumpBy, reason } : null;
  }

  #pickJumpSize(): number {
    const random = this.#random;
    return random.pick([
      () => random.intBetween(1, HOUR),
      () => random.intBetween(1, 24 * HOUR),
      () => random.intBetween(1, 40 * DAY),
      () => random.intBetween(1, (random.chance(0.1) ? 500 : 10) * DAY),
    ])();
  }

  // Waiting times.

  #nextClockTime(): Instant {
    const random = this.#random;
    const wait = random.pickWeighted(this.#waits);
    if (wait === "boundary") return this.#pickBoundary();
    const waitMs = {
      atOnce: () => random.pick([0, 0, 1, SECOND]),
      minutes: () => random.intBetween(1, 8 * MINUTE),
      hours: () => random.intBetween(1, 5 * HOUR),
      days: () => random.intBetween(1, 5 * DAY),
      months: () => random.intBetween(20 * DAY, 70 * DAY),
    }[wait]();
    return instant(this.#now + waitMs);
  }

  /** One of the next instants at which something ends, starts or resets, or 1 ms beside it. */
  #pickBoundary(): Instant {
    const now = this.#now;
    const far = now + (this.#random.chance(0.04) ? 400 * DAY : 2 * DAY);
    const later = this.#listBoundaries(now).filter((boundary) => boundary > now && boundary < far);
    const near = later.toSorted((a, b) => a - b);
    const chosen = near[Math.min(this.#random.intBelow(3), near.length - 1)] ?? now;
    return instant(Math.max(now, chosen + this.#random.pick([-1, 0, 0, 0, 1])));
  }

  #listBoundaries(now: Instant): number[] {
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
    const keyExpiries = keys.map(({ at }) => at.value + DAY);
    return [...ends, ...dates, ...resets, ...keyExpiries];
  }

  // Commands.

  #makeCommand(): Command {
    const random = this.#random;
    const missing = Object.keys(PRODUCTS).filter((id) =>
      this.#site.findInstalledLicenses().every((license) => license.id !== Number(id)),
    );
    const kind = random.pickWeighted({
      install: missing.length * 8,
      renew: 3,
      stale: 0.7,
      remove: 0.4,
      cancel: 2,
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
        return this.#makeInstallation(Number(random.pick(missing)));
      case "renew":
        return this.#renewAny();
      case "stale":
        return this.#makeStaleRenewal();
      case "remove":
        return remove(this.#pickLicenseId(), random.chance(0.4));
      case "cancel":
        return this.#makeCancellation();
      case "register":
        return register(this.#pickUser(), {
          ...this.#selectLicense(),
          contact: this.#makeContact(),
          nonceDigest: this.#pickDevice(),
          ...this.#pickHolder(0.2, false),
        });
      case "borrow":
        return this.#makeBorrow();
      case "unregister":
        return unregister(this.#pickUser(), {
          ...this.#selectLicense(),
          by: random.pick(["user", "admin"] as const),
          ...this.#pickHolder(0.6, false),
        });
      case "unregisterAll":
        return unregisterAll(random.pick([null, "cad", "cam", "nothing"]));
      case "registerFeature":
        return registerFeature(this.#pickUser(), this.#pickFeature(), {
          ...this.#selectLicense(),
          ...this.#pickHolder(0.8, false),
        });
      case "releaseFeature":
        return releaseFeature(this.#pickUser(), this.#pickFeature(), {
          ...this.#selectLicense(),
          ...this.#pickHolder(0.7, true),
        });
      case "releaseAllFeatures":
        return { type: "FeatureReleaseAll", peer: "10.0.0.1" };
      case "consume":
        return consume(this.#pickCount(), this.#makeCountOptions());
      case "consumeFeature":
        return consumeFeature(this.#pickFeature(), this.#pickCount(), this.#makeCountOptions());
      case "mark":
        return { type: "MarkClock" };
    }
  }

  /** Sometimes the last one again, from any device. */
  #makeBorrow(): Borrow {
    const nonceDigest = this.#pickDevice();
    if (this.#lastBorrow !== null && this.#random.chance(0.15))
      return { ...this.#lastBorrow, nonceDigest };
    this.#lastBorrow = borrow(this.#pickUser(), this.#pickBorrowEnd(), {
      ...this.#selectLicense(),
      contact: this.#makeContact(),
      nonceDigest,
      once: this.#pickIdempotencyKey(),
      ...this.#pickHolder(0.3, false),
    });
    return this.#lastBorrow;
  }

  #pickUser(): string | null {
    return this.#random.chance(0.005) ? null : this.#random.pick(USERS);
  }

  /** With this probability, the user of a held slot of this kind, with its product and feature. */
  #pickHolder(probability: number, isOfFeature: boolean) {
    const isCandidate = (slot: SlotRecord) =>
      isHeld(slot, this.#now) && (slot.feature !== null) === isOfFeature;
    const heldSlots = this.#site.slots.filter(isCandidate);
    if (heldSlots.length === 0 || !this.#random.chance(probability)) return {};
    const { user, feature, license } = this.#random.pick(heldSlots);
    const selector = { product: license.terms.product, licenseId: null };
    return feature === null ? { user, ...selector } : { user, feature, ...selector };
  }

  #makeContact() {
    const hostname = this.#random.pick(["desk", "laptop"]);
    return makeContact({ hostname, ip: "10.0.0.7", peer: "10.0.0.7" });
  }

  /** The digest of a device's nonce; null: it asks for no lease. */
  #pickDevice(): string | null {
    return this.#random.pick([null, null, "laptop", "laptop", "tablet"]);
  }

  #pickFeature(): string | null {
    if (this.#random.chance(0.02)) return this.#random.pick([null, "no-such-feature"]);
    return this.#random.pick(FEATURES);
  }

  #pickLicenseId(): number {
    return this.#random.pick([1, 2, 3, 4]);
  }

  #selectLicense() {
    const random = this.#random;
    if (random.chance(0.01)) return { product: "nothing", licenseId: null };
    const installed = this.#site.findInstalledLicenses().map((license) => license.id);
    const id =
      random.chance(0.03) || installed.length === 0
        ? this.#pickLicenseId()
        : random.pick(installed);
    const namedId = random.chance(0.1) ? random.pick([1, 2, 3, 9]) : id;
    const isOneProduct = new Set(installed.map((license) => PRODUCTS[license])).size === 1;
    const product = random.chance(isOneProduct ? 0.5 : 0.02) ? null : (PRODUCTS[id] ?? null);
    return { product, licenseId: random.chance(0.12) ? namedId : null };
  }

  /** A time from now, often the end of an existing borrow, slightly more or less, or too late. */
  #pickBorrowEnd(): Instant | null {
    const random = this.#random;
    const now = this.#now;
    if (random.chance(0.35)) return null;
    const ends = this.#site.slots.slice(-12).map(latestBorrowEnd);
    const caps = this.#site.findInstalledLicenses().flatMap(({ terms }) => {
      const end = terms.validUntil === null ? [] : [terms.validUntil];
      return [now + (terms.borrowHours ?? 0) * HOUR, ...end];
    });
    const edges = [...ends, ...caps].flatMap((edge) => [edge, edge - 1, edge + 60 * SECOND]);
    const until = random.chance(0.5)
      ? random.pick([...edges, ...edges.map((edge) => edge + 1), now, now + 1])
      : now + random.intBetween(-HOUR, 40 * HOUR);
    return instant(until);
  }

  #pickIdempotencyKey() {
    const random = this.#random;
    if (random.chance(0.6)) return null;
    return { key: random.pick(["k1", "__proto__"]), fingerprint: random.pick(["a", "a", "b"]) };
  }

  #pickCount(): number {
    const random = this.#random;
    if (random.chance(0.01)) return 10 ** 12;
    return random.chance(0.2) ? random.intBetween(-4, 0) : random.intBetween(1, 5);
  }

  #makeCountOptions() {
    const random = this.#random;
    return {
      ...this.#selectLicense(),
      user: random.chance(0.5) ? null : random.pick(USERS.slice(0, 3)),
      allowOverages: random.pick([null, null, true, false]),
      maxOverages: random.pick([null, null, 0, 1, 3, 100]),
      once: this.#pickIdempotencyKey(),
    };
  }

  // Licenses.

  /** Answers an open request; makes a request if none is open. */
  #makeInstallation(id: number): Command {
    const { openRequests, answeredRequests, cancelledRequests } = this.#site;
    const open = openRequests.find(({ at }) => this.#now < at + REQUEST_LIFETIME)?.request;
    if (open === undefined) {
      this.#requestCount += 1;
      return makeRequestCommand(`later request ${this.#requestCount}`);
    }
    const closed = [...answeredRequests.slice(0, 1), ...cancelledRequests, "no such request"];
    const request = this.#random.chance(0.2) ? this.#random.pick(closed) : open;
    return { ...this.#makeRenewal(id), answers: answerTo(request) };
  }

  /** Mostly of an open request; sometimes of one that is closed or unknown. */
  #makeCancellation(): Command {
    const { openRequests, answeredRequests, cancelledRequests } = this.#site;
    const closed = [...answeredRequests.slice(0, 1), ...cancelledRequests, "no such request"];
    const open = openRequests.map(({ request }) => request);
    const isOpen = open.length > 0 && this.#random.chance(0.7);
    const request = this.#random.pick(isOpen ? open : closed);
    return { type: "CancelRequest", request, peer: "10.0.0.1" };
  }

  #renewAny(): Command {
    return this.#makeRenewal(this.#pickLicenseId());
  }

  #makeRenewal(id: number) {
    this.#serial += 1;
    return renew(id, this.#serial, this.#makeTerms(id));
  }

  /** A license that was installed before, or other terms under a serial that was used. */
  #makeStaleRenewal(): Command {
    const random = this.#random;
    const id = this.#pickLicenseId();
    const installed = this.#site.licenses.findLast((license) => license.id === id);
    if (installed === undefined) return this.#renewAny();
    const serial = Math.max(1, installed.serial - random.intBelow(2));
    return renew(id, serial, random.chance(0.5) ? installed.terms : this.#makeTerms(id));
  }

  #makeTerms(id: number): Partial<Terms> {
    const random = this.#random;
    const codes = FEATURES.filter(() => random.chance(0.75));
    return {
      product: PRODUCTS[id] ?? "cad",
      enabled: !random.chance(0.05),
      start: random.chance(0.1) ? this.#pickDate(-2, 2) : null,
      validUntil: random.chance(0.3) ? this.#pickDate(-1, 30) : null,
      graceHours: random.pick([null, null, 0, 1, 48]),
      slots: random.pick([0, 1, 1, 2, 2, 3, 4]),
      timeoutMinutes: random.pick([1, 10, 30, 30, 120, 2_000]),
      borrowHours: random.pick([null, 0, 1, 24, 24, 240, 720]),
      earlyReturn: random.chance(0.6),
      consumption: random.chance(0.8) ? this.#makeConsumptionTerms() : null,
      features: codes.map((code) => featureTerms(code, this.#makeFeatureTerms())),
    };
  }

  #pickDate(from: number, to: number): Instant {
    return instant(this.#trueTime + this.#random.intBetween(from * DAY, to * DAY));
  }

  #makeFeatureTerms(): Partial<FeatureTerms> {
    const random = this.#random;
    const floating = {
      slots: random.pick([0, 1, 1, 2]),
      timeoutMinutes: random.pick([5, 30, 300]),
    };
    return {
      expires: random.chance(0.15) ? this.#pickDate(-1, 10) : null,
      floating: random.chance(0.75) ? floating : null,
      consumption: random.chance(0.6) ? this.#makeConsumptionTerms() : null,
    };
  }

  #makeConsumptionTerms(): ConsumptionTerms {
    const random = this.#random;
    return {
      max: random.pick([null, 0, 5, 10, 10, 30]),
      overages: random.pick([0, 0, 2, 8]),
      negative: random.chance(0.5),
      period: random.pick(PERIODS),
    };
  }
}
