import { describe, expect, test } from "bun:test";
import type { Event } from "../../../src/domain/event.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import type { FeatureTerms, Terms } from "../../../src/domain/licenses/terms.ts";
import type { State } from "../../../src/domain/state.ts";
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
  site.apply({ type: "FeatureTaken", ...slot, feature: "mesh", peer: "10.0.0.1" });
  expect(peakOfMesh()).toBe(1);
  const origin = { license: 1, serial: 1, vendor: "acme", product: "cad" };
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
