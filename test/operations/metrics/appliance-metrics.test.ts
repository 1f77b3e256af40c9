import { describe, expect, onTestFinished, test } from "bun:test";
import type { Event } from "../../../src/domain/model/event.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import type { FeatureTerms, Terms } from "../../../src/domain/model/licenses/terms.ts";
import type { PlaceLeftCause } from "../../../src/domain/model/queue/queue-event-types.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { DemandCounts } from "../../../src/operations/demand/demand-counts.ts";
import { ApplianceMetrics } from "../../../src/operations/metrics/appliance-metrics.ts";
import { writeExposition } from "../../../src/platform/metrics/exposition.ts";
import { parseExposition, type ParsedSample } from "../../support/parse-exposition.ts";
import {
  consumptionTerms,
  featureTerms,
  hoursLater,
  licenseInstalled,
  MONDAY,
  replayEvents,
  slotTaken,
} from "../../support/scenario.ts";

const isSignedForThisMachine = (): boolean => true;

/** A site without a disk, whose monotonic clock is moved by hand. */
class MeasuredSite {
  readonly state: State;
  readonly metrics: ApplianceMetrics;
  readonly demand = new DemandCounts();
  monotonicMs = 12_345;

  constructor(terms: Partial<Terms>) {
    this.state = replayEvents([licenseInstalled(1, terms)]);
    this.metrics = new ApplianceMetrics(() => this.monotonicMs);
    this.metrics.sample(this.state, MONDAY);
  }

  apply(event: Event): void {
    evolve(this.state, event);
    this.metrics.applied([event], this.state, event.at);
    this.metrics.durable([event], this.state);
  }

  read(at: Instant = MONDAY): ParsedSample[] {
    const context = { at, isSignedForThisMachine };
    const families = this.metrics.families(this.state, context, this.demand);
    const text = writeExposition(families, 1, "openmetrics");
    return parseExposition(text, "openmetrics").flatMap(({ samples }) => samples);
  }

  peak(at: Instant = MONDAY): number | undefined {
    return this.read(at).find(({ name }) => name === "berth_license_slots_peak")?.value;
  }
}

const FLOATING = { floating: { slots: 1, timeoutMinutes: 30 } };

describe("the number of series", () => {
  const both: FeatureTerms = featureTerms("both", {
    ...FLOATING,
    consumption: consumptionTerms({ max: 5 }),
  });
  const site = new MeasuredSite({
    type: "time-limited",
    validUntil: hoursLater(9),
    consumption: consumptionTerms({ max: 10 }),
    features: [both],
  });
  const [product = ""] = site.state.products.keys();
  const { refusals } = site.metrics;
  for (let code = 0; code < 200; code += 1) {
    refusals.count(product, "product", `code_${code}`);
    refusals.count(product, "feature", `code_${code}`);
  }
  const samples = site.read();

  const count = (isCounted: (labels: ParsedSample["labels"]) => boolean): number =>
    samples.filter(({ labels }) => isCounted(labels)).length;

  test("is at most 10 for a feature that floats and counts consumption", () => {
    expect(count(({ feature }) => feature === "both")).toBeWithin(1, 11);
  });

  test("is at most 25 for a license", () => {
    expect(count(({ license }) => license === "1")).toBeWithin(1, 26);
  });

  test("is at most 60 for a product, whatever codes it refuses with", () => {
    const ofProduct = count(
      ({ product: name, license, feature }) =>
        name === product && license === undefined && feature === undefined,
    );
    expect(ofProduct).toBeWithin(50, 61);
    const total = samples
      .filter(
        ({ name, labels }) => name === "berth_refusals_total" && labels["product"] === product,
      )
      .reduce((sum, { value }) => sum + value, 0);
    expect(total).toBe(400);
  });
});

describe("the slots that are reserved and idle", () => {
  const reserve = (slots: number, idle: "keep" | "lend"): Event => ({
    type: "RulesApplied",
    at: MONDAY,
    text: "reserve",
    digest: "0".repeat(64),
    rules: {
      groups: [{ ...NO_PATTERNS, name: "sim", users: ["ada", "eve"] }],
      pools: [{ ...NO_RULES, reservations: [{ line: 1, group: "sim", slots, idle }] }],
    },
    peer: "10.0.0.1",
  });
  const NO_PATTERNS = { hosts: [], logins: [], certificates: [], networks: [], ignoreCase: false };
  const NO_RULES = {
    product: "cad",
    feature: null,
    deny: [],
    allowOnly: null,
    eachUser: null,
    eachHost: null,
    groupLimits: [],
    borrow: null,
    queue: null,
  };
  const readIdle = (site: MeasuredSite): number | undefined =>
    site.read().find(({ name }) => name === "berth_slots_reserved_idle")?.value;

  test("are those of a group that keeps them, less what its members hold", () => {
    const site = new MeasuredSite({ slots: 5 });
    expect(readIdle(site)).toBe(0);
    site.apply(reserve(2, "keep"));
    expect(readIdle(site)).toBe(2);
    site.apply(slotTaken("ada", { slot: 1 }));
    site.apply(slotTaken("bob", { slot: 2 }));
    expect(readIdle(site)).toBe(1);
    site.apply(slotTaken("eve", { slot: 3 }));
    expect(readIdle(site)).toBe(0);
  });

  test("are no more than the free slots", () => {
    const site = new MeasuredSite({ slots: 5 });
    site.apply(reserve(4, "keep"));
    for (const slot of [1, 2, 3, 4]) site.apply(slotTaken(`user-${slot}`, { slot }));
    expect(readIdle(site)).toBe(1);
  });

  test("do not include a free slot that is held for a user who waited", () => {
    const site = new MeasuredSite({ slots: 2 });
    const place = { at: MONDAY, product: "cad", user: "zoe", place: 7 };
    const facts = { host: "desk", address: "10.0.0.7", login: null, certificate: null };
    const wait = { licenseId: null, facts, home: null, peer: "10.0.0.7" };
    site.apply({ type: "PlaceTaken", ...place, ...wait });
    site.apply({ type: "HoldGiven", ...place, license: 1 });
    site.apply(reserve(2, "keep"));
    expect(readIdle(site)).toBe(1);
  });

  test("do not include slots that are lent", () => {
    const site = new MeasuredSite({ slots: 5 });
    site.apply(reserve(4, "lend"));
    expect(readIdle(site)).toBe(0);
  });
});

describe("the metrics of a queue", () => {
  const placeTaken = (user: string, place: number, at: Instant): Event => ({
    type: "PlaceTaken",
    at,
    product: "cad",
    user,
    place,
    licenseId: null,
    facts: { host: "desk", address: "10.0.0.7", login: null, certificate: null },
    home: null,
    peer: "10.0.0.7",
  });
  const placeLeft = (user: string, place: number, at: Instant, cause: PlaceLeftCause): Event => ({
    type: "PlaceLeft",
    at,
    product: "cad",
    user,
    place,
    cause,
  });
  const valueOf = (samples: readonly ParsedSample[], name: string, label = {}): number =>
    samples
      .filter((sample) => sample.name === name)
      .filter(({ labels }) => Object.entries(label).every(([key, value]) => labels[key] === value))
      .reduce((sum, { value }) => sum + value, 0);

  function makeQueue(): MeasuredSite {
    const site = new MeasuredSite({ slots: 1 });
    for (const [index, user] of ["ada", "eve", "ida"].entries()) {
      site.apply(placeTaken(user, index + 1, MONDAY));
    }
    return site;
  }

  test("count users who wait apart from slots that are held for users", () => {
    const site = makeQueue();
    site.apply({
      type: "HoldGiven",
      at: MONDAY,
      product: "cad",
      user: "ada",
      place: 1,
      license: 1,
    });
    const samples = site.read();
    expect(valueOf(samples, "berth_queue_waiting")).toBe(2);
    expect(valueOf(samples, "berth_queue_held")).toBe(1);
  });

  test("measure a wait from the first call to the slot, also if the place was changed", () => {
    const site = makeQueue();
    site.apply(placeTaken("ada", 1, later(MONDAY, 2 * MINUTE)));
    site.apply(placeLeft("ada", 1, later(MONDAY, 4 * MINUTE), "granted"));
    const samples = site.read(later(MONDAY, 4 * MINUTE));
    const name = "berth_queue_wait_duration_seconds";
    expect(valueOf(samples, `${name}_sum`)).toBe(240);
    expect(valueOf(samples, `${name}_bucket`, { le: "60.0" })).toBe(0);
    expect(valueOf(samples, `${name}_bucket`, { le: "300.0" })).toBe(1);
  });

  test("measure a wait by the clock as it was set back meanwhile", () => {
    const site = new MeasuredSite({ slots: 1 });
    const [from, to] = [hoursLater(5), hoursLater(1)];
    site.apply({ type: "ClockJumped", at: from, from: to, to: from, reason: "step" });
    site.apply(placeTaken("ada", 1, from));
    site.apply({ type: "ClockSetBack", at: to, from, to, peer: "10.0.0.1" });
    site.apply(placeLeft("ada", 1, later(to, 2 * MINUTE), "granted"));
    const samples = site.read(later(to, 2 * MINUTE));
    expect(valueOf(samples, "berth_queue_wait_duration_seconds_sum")).toBe(120);
  });

  test("count who left without a slot by cause, and these are no waits", () => {
    const site = makeQueue();
    site.apply(placeLeft("ada", 1, hoursLater(1), "lapsed"));
    site.apply(placeLeft("eve", 2, hoursLater(1), "denied"));
    site.apply(placeLeft("ida", 3, hoursLater(1), "license_gone"));
    const samples = site.read(hoursLater(1));
    const left = (cause: string) => valueOf(samples, "berth_queue_places_left_total", { cause });
    expect(["unregistered", "lapsed", "dropped", "refused"].map(left)).toEqual([0, 1, 0, 2]);
    expect(valueOf(samples, "berth_queue_wait_duration_seconds_count")).toBe(0);
  });

  test("know since when users wait who waited before the start", () => {
    const { state } = makeQueue();
    const metrics = new ApplianceMetrics(() => 0);
    metrics.startSampling(() => ({ state, now: hoursLater(1) }));
    onTestFinished(() => metrics.stop());
    metrics.durable([placeLeft("eve", 2, hoursLater(1), "granted")], state);
    const context = { at: hoursLater(1), isSignedForThisMachine };
    const text = writeExposition(
      metrics.families(state, context, new DemandCounts()),
      1,
      "openmetrics",
    );
    expect(text).toContain('berth_queue_wait_duration_seconds_sum{product="cad"} 3600\n');
  });
});

describe("the peak of the slots in use", () => {
  const taken = (user: string, slot: number): Event =>
    slotTaken(user, { slot, at: MONDAY, end: hoursLater(1) });
  const released = (user: string, slot: number): Event => ({
    type: "SlotReleased",
    at: MONDAY,
    license: 1,
    user,
    slot,
    by: "user",
    peer: "10.0.0.1",
    early: false,
  });

  function makePeak(): MeasuredSite {
    const site = new MeasuredSite({ slots: 9 });
    site.apply(taken("ada", 1));
    site.apply(taken("bob", 2));
    site.apply(released("bob", 2));
    return site;
  }

  test("has what was in use between two samples", () => {
    expect(makePeak().peak()).toBe(2);
  });

  test("has a level that lasted from one sample to the next", () => {
    const site = new MeasuredSite({ slots: 9 });
    site.apply(taken("ada", 1));
    site.apply(taken("bob", 2));
    site.monotonicMs += 4 * MINUTE;
    site.apply(released("bob", 2));
    site.monotonicMs += 4 * MINUTE;
    expect(site.peak()).toBe(2);
  });

  test("stays for five minutes", () => {
    const site = makePeak();
    site.monotonicMs += 5 * MINUTE;
    expect(site.peak()).toBe(2);
  });

  test("is forgotten five minutes and ten seconds later", () => {
    const site = makePeak();
    site.monotonicMs += 5 * MINUTE + 10_000;
    expect(site.peak()).toBe(1);
  });

  test("does not fall below the present use after hours without a change", () => {
    const site = makePeak();
    site.monotonicMs += 500 * MINUTE;
    expect(site.peak(later(MONDAY, MINUTE))).toBe(1);
  });

  test("falls when slots expire, without any event", () => {
    const site = makePeak();
    for (let minute = 0; minute < 7; minute += 1) {
      site.monotonicMs += MINUTE;
      site.metrics.sample(site.state, hoursLater(2));
    }
    expect(site.peak(hoursLater(2))).toBe(0);
  });
});

test("the peak of a feature is forgotten when its license is removed", () => {
  const mesh = featureTerms("mesh", { floating: { slots: 9, timeoutMinutes: 30 } });
  const site = new MeasuredSite({ slots: 9, features: [mesh] });
  const peakOfMesh = (): number | undefined =>
    site.read().find(({ name }) => name === "berth_feature_slots_peak")?.value;
  const slot = { license: 1, user: "ada", slot: 1, at: MONDAY, end: hoursLater(1) };
  site.apply(slotTaken("ada", slot));
  const feature = { feature: "mesh", timeoutAt: slot.end, peer: "10.0.0.1" };
  site.apply({ type: "FeatureTaken", ...slot, ...feature });
  expect(peakOfMesh()).toBe(1);
  const origin = { license: 1, serial: 1, vendor: "acme", key: "K", product: "cad" };
  const tombstone = { ...origin, at: MONDAY, total: 0, borrows: [] };
  site.apply({ type: "LicenseRemoved", at: MONDAY, license: 1, tombstone, peer: "10.0.0.1" });
  expect(peakOfMesh()).toBeUndefined();
  site.apply(licenseInstalled(1, { slots: 9, features: [mesh] }));
  expect(peakOfMesh()).toBe(0);
});

test("changes are counted once they are on disk", () => {
  const site = new MeasuredSite({ slots: 9 });
  const event = slotTaken("ada");
  evolve(site.state, event);
  site.metrics.applied([event], site.state, event.at);
  const grants = () => site.read().find(({ name }) => name === "berth_license_grants_total")?.value;
  expect(grants()).toBe(0);
  site.metrics.durable([event], site.state);
  expect(grants()).toBe(1);
});
