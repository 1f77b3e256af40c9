// A scrape does not depend on the number of users: neither its series nor its time.
import { beforeAll, describe, expect, test } from "bun:test";
import {
  newRegistration,
  type MutableLicense,
  type MutableState,
} from "../../../src/domain/evolve/mutable-state.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { DemandCounts } from "../../../src/operations/demand/demand-counts.ts";
import { ApplianceMetrics } from "../../../src/operations/metrics/appliance-metrics.ts";
import { writeExposition } from "../../../src/platform/metrics/exposition.ts";
import { parseExposition, seriesKey, type ParsedSample } from "../../support/parse-exposition.ts";
import {
  CONTACT,
  featureTerms,
  hoursLater,
  licenseInstalled,
  MONDAY,
  replayEvents,
} from "../../support/scenario.ts";

const FEW = 10;
const MILLION = 1_000_000;
const SCRAPES = 50;

/** Every tenth user has borrowed the slot, and every third uses the feature. */
function makeState(users: number): State {
  const state = replayEvents([
    licenseInstalled(1, {
      slots: users + 5,
      borrowHours: 100,
      features: [featureTerms("render", { floating: { slots: users, timeoutMinutes: 30 } })],
    }),
  ]);
  const { pool, features } = (state as MutableState).licenses.get(1) as MutableLicense;
  const feature = features.get("render");
  for (let index = 0; index < users; index += 1) {
    const user = `user-${index}`;
    // Users come and go at different times.
    const end = hoursLater(1 + (index % 50));
    const registration = newRegistration(index + 1, user, MONDAY, end, CONTACT);
    pool.add(registration);
    if (index % 10 === 0) pool.setBorrow(registration, { until: end, at: MONDAY, leasedTo: null });
    if (index % 3 !== 0) continue;
    const ends = { end, setAt: MONDAY, timeoutAt: end, takenFrom: CONTACT, identity: null };
    feature?.pool.add({ slot: MILLION + index + 1, user, registeredAt: MONDAY, ...ends });
  }
  return state;
}

class Scraper {
  readonly #metrics = new ApplianceMetrics();
  readonly #demand = new DemandCounts();
  readonly #state: State;

  constructor(users: number) {
    this.#state = makeState(users);
  }

  scrape(): string {
    const context = { at: hoursLater(2), isSignedForThisMachine: () => true };
    const families = this.#metrics.families(this.#state, context, this.#demand);
    return writeExposition(families, 1, "openmetrics");
  }

  samples(): ParsedSample[] {
    return parseExposition(this.scrape(), "openmetrics").flatMap(({ samples }) => samples);
  }

  /** The fastest of many: others use the machine too. */
  shortestMs(): number {
    const durations = Array.from({ length: SCRAPES }, () => {
      const startedAt = performance.now();
      this.scrape();
      return performance.now() - startedAt;
    });
    return Math.min(...durations);
  }
}

describe("the metrics of a site with 1,000,000 users", () => {
  let few: Scraper;
  let many: Scraper;

  beforeAll(() => {
    few = new Scraper(FEW);
    many = new Scraper(MILLION);
  });

  test("have the same series as those of a site with 10 users", () => {
    expect(many.samples().map(seriesKey)).toEqual(few.samples().map(seriesKey));
  });

  test("have the right numbers of slots in use and borrowed", () => {
    const valueOf = (name: string) => many.samples().find((sample) => sample.name === name)?.value;
    // Of each 50 ends, the first two have passed.
    expect(valueOf("berth_license_slots_in_use")).toBe((MILLION / 50) * 48);
    // Borrows end at 1, 11, 21, 31 and 41 hours: one of five has passed.
    expect(valueOf("berth_license_slots_borrowed")).toBe((MILLION / 10) * 0.8);
  });

  test("are collected and written within 5 milliseconds", () => {
    few.shortestMs();
    expect(many.shortestMs()).toBeLessThan(5);
  });
});
