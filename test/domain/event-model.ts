// A second, plain statement of what the rules promise. It uses the events alone and none of the
// code of the rules. `apply` throws for an event that grants more than it may.
import { expect } from "bun:test";
import type { Event } from "../../src/domain/event.ts";
import type { ConsumptionTerms, Terms } from "../../src/domain/licenses/terms.ts";
import { DAY, HOUR, MINUTE, type Period } from "../../src/domain/time.ts";

interface ModelHolder {
  end: number;
  borrowedUntil: number;
  /** The device that the borrow is leased to. */
  leasedTo: string | null;
}

interface ModelPool {
  readonly holders: Map<string, ModelHolder>;
}

interface ModelCounter {
  readonly counts: { readonly at: number; readonly count: number }[];
}

export class LicenseModel implements ModelPool, ModelCounter {
  readonly holders = new Map<string, ModelHolder>();
  readonly counts: { at: number; count: number }[] = [];
  readonly features = new Map<string, ModelPool & ModelCounter>();
  terms: Terms;

  constructor(terms: Terms) {
    this.terms = terms;
  }

  feature(code: string): ModelPool & ModelCounter {
    const feature = this.features.get(code) ?? { holders: new Map(), counts: [] };
    this.features.set(code, feature);
    return feature;
  }

  featureTerms(code: string) {
    return this.terms.features.find((feature) => feature.code === code);
  }

  getEnd(): number {
    const { validUntil, graceHours } = this.terms;
    return validUntil === null ? Infinity : validUntil + (graceHours ?? 0) * HOUR;
  }

  isFull(at: number): boolean {
    return countHeld(this, at) >= this.terms.slots;
  }
}

export class EventModel {
  readonly licenses = new Map<number, LicenseModel>();

  license(id: number): LicenseModel {
    const license = this.licenses.get(id);
    if (license === undefined) throw new Error(`no license ${id}`);
    return license;
  }

  findValidLicenses(product: string, at: number): LicenseModel[] {
    const all = [...this.licenses.values()].filter(({ terms }) => terms.product === product);
    return all.filter((license) => license.terms.enabled && at < license.getEnd());
  }

  apply(event: Event): void {
    if (event.type === "LicenseInstalled") return this.#install(event.license, event.terms);
    if (event.type === "LicenseRemoved") return void this.licenses.delete(event.license);
    if (!("license" in event) || "place" in event) return;
    const license = this.license(event.license);
    if (event.type === "ConsumptionAdded") {
      return checkCount(license, license.terms.consumption, event);
    }
    if (event.type === "FeatureConsumptionAdded") {
      const terms = license.featureTerms(event.feature)?.consumption ?? null;
      return checkCount(license.feature(event.feature), terms, event);
    }
    if ("feature" in event) checkFeature(license, event);
    // The sequences have no clock that jumps, so no slot is ever restored.
    else if (event.type !== "SlotRestored") checkSlot(license, event);
  }

  #install(id: number, terms: Terms): void {
    const installed = this.licenses.get(id);
    if (installed === undefined) this.licenses.set(id, new LicenseModel(terms));
    else installed.terms = terms;
  }
}

export const countHeld = ({ holders }: ModelPool, at: number): number =>
  [...holders.values()].filter(({ end }) => at < end).length;

export const computeTotal = (
  { counts }: ModelCounter,
  period: Period | null,
  now: number,
): number =>
  counts
    .filter(({ at }) => numberPeriod(period, at) === numberPeriod(period, now))
    .reduce((total, { count }) => total + count, 0);

type SlotEvent = Exclude<
  Extract<Event, { type: `Slot${string}` | "ContactChanged" }>,
  { type: "SlotRestored" }
>;

function checkSlot(license: LicenseModel, event: SlotEvent): void {
  const { at, user } = event;
  const { holders, terms } = license;
  const timeout = at + terms.timeoutMinutes * MINUTE;
  if (event.type === "SlotTaken") {
    expect(holders.has(user)).toBe(false);
    expect<number>(event.end).toBe(timeout);
    holders.set(user, { end: event.end, borrowedUntil: 0, leasedTo: null });
    expect(countHeld(license, at)).toBeLessThanOrEqual(terms.slots);
    expect(at).toBeLessThan(license.getEnd());
    return;
  }
  const holder = requireHolder(license, user);
  if (event.type === "SlotExpired") {
    expect<number>(at).toBe(holder.end);
    holders.delete(user);
    return;
  }
  expect(at).toBeLessThan(holder.end);
  if (event.type === "ContactChanged") return;
  if (event.type === "SlotReleased") {
    if (!terms.earlyReturn) expect(holder.borrowedUntil).toBeLessThanOrEqual(at);
    expect(event.early).toBe(at < holder.borrowedUntil);
    holders.delete(user);
    return;
  }
  // While a borrow lasts, the device it is leased to stays the same.
  if (holder.borrowedUntil <= at) holder.leasedTo = null;
  const device = event.leasedTo ?? null;
  if (holder.leasedTo !== null) {
    expect(device).toBe(event.type === "SlotBorrowed" ? holder.leasedTo : null);
  }
  holder.leasedTo ??= device;
  if (event.type === "SlotBorrowed") {
    const longest = Math.min(at + (terms.borrowHours ?? 0) * HOUR, license.getEnd());
    expect(event.until).toBeGreaterThan(at);
    expect(event.until).toBeLessThanOrEqual(Math.max(longest, holder.borrowedUntil));
    if (!terms.earlyReturn) expect(event.until).toBeGreaterThanOrEqual(holder.borrowedUntil);
    holder.borrowedUntil = event.until;
  }
  // The later of the borrow and the last contact plus the timeout, and nothing else.
  expect<number>(event.end).toBe(Math.max(timeout, holder.borrowedUntil));
  holder.end = event.end;
}

type FeatureEvent = Extract<Event, { feature: string; slot?: number; user: string }>;

function checkFeature(license: LicenseModel, event: FeatureEvent): void {
  const pool = license.feature(event.feature);
  const { at, user } = event;
  if (event.type === "FeatureTaken") {
    expect(pool.holders.has(user)).toBe(false);
    expect(at).toBeLessThan(requireHolder(license, user).end);
    pool.holders.set(user, { end: event.end, borrowedUntil: 0, leasedTo: null });
    const slots = license.featureTerms(event.feature)?.floating?.slots ?? 0;
    expect(countHeld(pool, at)).toBeLessThanOrEqual(slots);
    return;
  }
  const holder = requireHolder(pool, user);
  if (event.type === "FeatureExpired") expect<number>(at).toBe(holder.end);
  else expect(at).toBeLessThan(holder.end);
  if (event.type === "FeatureRenewed") holder.end = event.end;
  else pool.holders.delete(user);
}

type CountEvent = Extract<Event, { count: number; total: number }>;

function checkCount(
  counter: ModelCounter,
  terms: ConsumptionTerms | null,
  event: CountEvent,
): void {
  const { at, count, total } = event;
  counter.counts.push({ at, count });
  // A feature that a renewal dropped still accepts negative counts; its period is not known here.
  if (terms !== null) expect(total).toBe(computeTotal(counter, terms.period, at));
  expect(total).toBeGreaterThanOrEqual(0);
  if (count > 0) expect(total).toBeLessThanOrEqual(computeLimit(terms));
}

export const computeLimit = (terms: ConsumptionTerms | null): number =>
  terms === null ? 0 : terms.max === null ? Infinity : terms.max + terms.overages;

function requireHolder({ holders }: ModelPool, user: string): ModelHolder {
  const holder = holders.get(user);
  if (holder === undefined) throw new Error(`${user} holds no slot`);
  return holder;
}

/** A number that is the same for all instants of one period. 1970 began on a Thursday. */
function numberPeriod(period: Period | null, at: number): number {
  const day = Math.floor(at / DAY);
  const date = new Date(at);
  if (period === null) return 0;
  if (period === "daily") return day;
  if (period === "weekly") return Math.floor((day + 3) / 7);
  const months = period === "monthly" ? date.getUTCMonth() : 0;
  return date.getUTCFullYear() * 12 + months;
}
