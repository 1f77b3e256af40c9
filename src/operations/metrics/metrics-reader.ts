import { SECOND } from "../../domain/time.ts";
import { type MetricFamily, single } from "../../platform/metrics/metric.ts";
import { STORE_WARNING_CODES } from "../../store/store-health.ts";
import { isDiskFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import type { DemandCounts } from "../demand/demand-counts.ts";
import type { Identity } from "../appliance/identity.ts";
import type { Leadership } from "../pair/leadership.ts";
import type { PairMembership } from "../pair/pair-membership.ts";
import type { ClockView, Timekeeping } from "../clock/timekeeping.ts";
import type { ApplianceMetrics, MetricsContext } from "./appliance-metrics.ts";
import { METRICS } from "./catalogue.ts";
import { pairFamilies } from "./pair-families.ts";

const CLOCK_STATES: readonly ClockView["state"][] = ["ok", "behind", "suspect", "ahead"];

interface MetricsSources {
  readonly store: Store;
  readonly timekeeping: Timekeeping;
  readonly identity: Identity;
  readonly metrics: ApplianceMetrics;
  readonly demand: DemandCounts;
  /** Null: this host is alone. */
  readonly leadership: Pick<Leadership, "mayAnswer"> | null;
  readonly pairMembership: Pick<PairMembership, "status">;
}

/** Reads the metrics of an open data folder: licenses, storage and clock. */
export class MetricsReader {
  readonly #store: Store;
  readonly #timekeeping: Timekeeping;
  readonly #identity: Identity;
  readonly #metrics: ApplianceMetrics;
  readonly #demand: DemandCounts;
  readonly #pair: Pick<MetricsSources, "leadership" | "pairMembership">;

  constructor({ store, timekeeping, identity, metrics, demand, ...pair }: MetricsSources) {
    this.#store = store;
    this.#timekeeping = timekeeping;
    this.#identity = identity;
    this.#metrics = metrics;
    this.#demand = demand;
    this.#pair = pair;
  }

  read(): MetricFamily[] {
    const clock = this.#timekeeping.view();
    const context: MetricsContext = {
      at: clock.now,
      hasLog: this.#pair.leadership !== null,
      isSignedForThisMachine: (license) => this.#identity.matchHardware(license).isMatch,
    };
    return [
      ...this.#siteFamilies(context),
      ...this.#storageFamilies(),
      ...clockFamilies(clock),
      ...pairFamilies(this.#pair.pairMembership.status()),
    ];
  }

  /** Only the leader has them: a sum over both hosts of a pair counts each slot once. */
  #siteFamilies(context: MetricsContext): MetricFamily[] {
    if (this.#pair.leadership?.mayAnswer() === false) return [];
    return this.#store.peek((state) => this.#metrics.families(state, context, this.#demand));
  }

  #storageFamilies(): MetricFamily[] {
    const { fault, checkpointError, journalBytes } = this.#store.status();
    const { warnings, freeBytes, requiredBytes } = this.#store.health();
    const { syncDurations, unfinishedSyncMs, checkpointAgeMs } = this.#store.measures();
    return [
      { metric: METRICS.journalSyncs, samples: [{ labels: [], value: syncDurations }] },
      single(METRICS.unfinishedSync, unfinishedSyncMs / SECOND),
      single(METRICS.journalSize, journalBytes),
      single(METRICS.checkpointAge, checkpointAgeMs / SECOND),
      single(METRICS.checkpointFailing, checkpointError === null ? 0 : 1),
      single(METRICS.diskFree, freeBytes),
      single(METRICS.diskRequired, requiredBytes),
      single(METRICS.readOnly, isDiskFault(fault) ? 1 : 0),
      {
        metric: METRICS.warnings,
        samples: STORE_WARNING_CODES.map((code) => ({
          labels: [code],
          value: warnings.some((warning) => warning.code === code) ? 1 : 0,
        })),
      },
    ];
  }
}

const clockFamilies = ({ state, now, systemTime }: ClockView): MetricFamily[] => [
  {
    metric: METRICS.clockState,
    samples: CLOCK_STATES.map((name) => ({ labels: [name], value: name === state ? 1 : 0 })),
  },
  single(METRICS.clockOffset, (systemTime - now) / SECOND),
  single(METRICS.serverTime, now / SECOND),
];
