import { totalAt } from "../../domain/consumption/counters.ts";
import type { Event } from "../../domain/model/event.ts";
import { checkLicenseValid } from "../../domain/licenses/licenses.ts";
import { getLicenseEnd } from "../../domain/model/licenses/terms.ts";
import type { RuleContext } from "../../domain/model/rule-context.ts";
import { countSlotsInUse } from "../../domain/model/slots/pool.ts";
import type { License, State } from "../../domain/model/state.ts";
import { SECOND, type Instant } from "../../domain/time.ts";
import type { Metric, MetricFamily, Sample } from "../../platform/metrics/metric.ts";
import type { StoreObserver } from "../../store/store-options.ts";
import type { DemandCounts, DemandCount } from "../demand/demand-counts.ts";
import { METRICS } from "./catalogue.ts";
import { ChangeCounters, featureKey, RELEASE_CAUSES } from "./change-counters.ts";
import {
  countsConsumption,
  isFloating,
  selectFeatures,
  sumConsumption,
  sumConsumptionLimit,
  sumSlots,
  sumSlotsInUse,
  type FeatureSeries,
} from "./feature-series.ts";
import { PEAK_SAMPLE_MS, PeakWindow } from "./peak-window.ts";
import { QueueCounters } from "./queue-counters.ts";
import { sharingFamilies } from "./sharing-families.ts";
import { RefusalCounters } from "./refusal-counters.ts";
import type { EpisodeOutcome } from "../../domain/model/demand/episode.ts";

interface FeatureSelection {
  readonly state: State;
  readonly series: readonly FeatureSeries[];
  /** By `featureKey`; the rest has a key without a product. */
  readonly byKey: ReadonlyMap<string, FeatureSeries>;
}

export type MetricsContext = Pick<RuleContext, "at" | "hasLog" | "isSignedForThisMachine">;

/**
 * Measures licenses, features and refusals since the start. A scrape reads the state without
 * waiting for the disk: a monitor must get an answer also while the disk hangs.
 */
export class ApplianceMetrics implements StoreObserver {
  readonly refusals = new RefusalCounters();
  readonly #changes = new ChangeCounters();
  readonly #queues = new QueueCounters();
  readonly #licensePeaks = new Map<number, PeakWindow>();
  readonly #featurePeaks = new Map<string, PeakWindow>();
  readonly #monotonicMs: () => number;
  #selection: FeatureSelection | null = null;
  #sampleTimer: Timer | null = null;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** Records the slots in use now and every ten seconds, so that the peaks are right. */
  startSampling(read: () => { readonly state: State; readonly now: Instant }): void {
    const sample = (): void => {
      const { state, now } = read();
      this.sample(state, now);
    };
    sample();
    this.#queues.readPlaces(read().state);
    this.#sampleTimer = setInterval(sample, PEAK_SAMPLE_MS);
    this.#sampleTimer.unref();
  }

  stop(): void {
    if (this.#sampleTimer !== null) clearInterval(this.#sampleTimer);
  }

  applied(events: readonly Event[], state: State, at: Instant): void {
    for (const event of events) {
      switch (event.type) {
        case "SlotTaken":
        case "SlotReleased":
          this.#recordLicense(state.licenses.get(event.license), at);
          break;
        case "FeatureTaken":
        case "FeatureReleased":
          this.#recordFeature(state, event.license, event.feature, at);
          break;
        case "LicenseInstalled":
        case "LicenseRemoved":
          this.#selection = null;
          break;
        default:
      }
    }
  }

  durable(events: readonly Event[], state: State): void {
    for (const event of events) {
      this.#changes.count(event, state);
      this.#queues.count(event, state);
    }
  }

  /** Changes are counted by the host that made them: the counters of both hosts can be added. */
  followed(events: readonly Event[], state: State, at: Instant): void {
    this.applied(events, state, at);
  }

  sample(state: State, now: Instant): void {
    for (const license of state.licenses.values()) this.#recordLicense(license, now);
    for (const id of this.#licensePeaks.keys()) {
      if (!state.licenses.has(id)) this.#licensePeaks.delete(id);
    }
    const nowMs = this.#monotonicMs();
    const { series: allSeries, byKey } = this.#selectionOf(state);
    for (const series of allSeries) {
      this.#featurePeak(series, nowMs).record(sumSlotsInUse(series, now), nowMs);
    }
    for (const key of this.#featurePeaks.keys()) {
      if (!byKey.has(key)) this.#featurePeaks.delete(key);
    }
  }

  families(state: State, context: MetricsContext, demand: DemandCounts): MetricFamily[] {
    this.sample(state, context.at);
    return [
      ...this.#licenseFamilies(state, context),
      ...this.#featureFamilies(state, context.at),
      ...this.#productFamilies(state),
      ...sharingFamilies(state, context.at, productsOf(state), this.#queues),
      ...demandFamilies(demand, productsOf(state), this.#seriesOf(state)),
    ];
  }

  #licenseFamilies(state: State, context: MetricsContext): MetricFamily[] {
    const { at } = context;
    const licenses = [...state.licenses.values()].toSorted((a, b) => a.id - b.id);
    const gauge = (metric: Metric, read: (license: License) => number | null): MetricFamily => ({
      metric,
      samples: licenses.flatMap((license) => toSamples(labelsOf(license), read(license))),
    });
    return [
      gauge(METRICS.licenseSlots, ({ terms }) => terms.slots),
      gauge(METRICS.licenseSlotsInUse, ({ pool }) => countSlotsInUse(pool, at)),
      gauge(METRICS.licenseSlotsBorrowed, ({ pool }) => pool.countBorrowed(at)),
      gauge(METRICS.licenseSlotsPeak, ({ id }) => this.#licensePeaks.get(id)?.peak() ?? 0),
      gauge(METRICS.licenseValid, (license) =>
        checkLicenseValid(state, license, context) === null ? 1 : 0,
      ),
      gauge(METRICS.licenseEnd, ({ terms }) => toSeconds(getLicenseEnd(terms))),
      gauge(METRICS.licenseConsumption, ({ terms, counter }) =>
        terms.consumption === null ? null : totalAt(counter, at),
      ),
      gauge(METRICS.licenseConsumptionLimit, ({ terms }) => terms.consumption?.max ?? null),
      gauge(METRICS.licenseGrants, ({ id }) => this.#changes.ofLicense(id).grants),
      {
        metric: METRICS.licenseReleases,
        samples: licenses.flatMap((license) =>
          RELEASE_CAUSES.map((cause) => ({
            labels: [...labelsOf(license), cause],
            value: this.#changes.ofLicense(license.id).releases[cause],
          })),
        ),
      },
    ];
  }

  #featureFamilies(state: State, at: Instant): MetricFamily[] {
    const all = this.#seriesOf(state);
    const floating = all.filter(isFloating);
    const counting = all.filter(countsConsumption);
    const nowMs = this.#monotonicMs();
    return [
      featureFamily(METRICS.featureSlots, floating, sumSlots),
      featureFamily(METRICS.featureSlotsInUse, floating, (series) => sumSlotsInUse(series, at)),
      featureFamily(METRICS.featureSlotsPeak, floating, (series) =>
        this.#featurePeak(series, nowMs).peak(),
      ),
      featureFamily(METRICS.featureGrants, floating, ({ keys }) =>
        keys.reduce((sum, key) => sum + this.#changes.featureGrantsOf(key), 0),
      ),
      featureFamily(METRICS.featureConsumption, counting, (series) => sumConsumption(series, at)),
      featureFamily(METRICS.featureConsumptionLimit, counting, sumConsumptionLimit),
    ];
  }

  #productFamilies(state: State): MetricFamily[] {
    const names = productsOf(state);
    return [
      {
        metric: METRICS.featureReleases,
        samples: names.flatMap((product) =>
          RELEASE_CAUSES.map((cause) => ({
            labels: [product, cause],
            value: this.#changes.featureReleasesOf(product)[cause],
          })),
        ),
      },
      {
        metric: METRICS.refusals,
        samples: ["", ...names].flatMap((product) =>
          [...this.refusals.list(product)].map(({ scope, code, count }) => ({
            labels: [product, scope, code],
            value: count,
          })),
        ),
      },
    ];
  }

  #recordLicense(license: License | undefined, at: Instant): void {
    if (license === undefined) return;
    const nowMs = this.#monotonicMs();
    let window = this.#licensePeaks.get(license.id);
    if (window === undefined) {
      this.#licensePeaks.set(license.id, (window = new PeakWindow(nowMs)));
    }
    window.record(countSlotsInUse(license.pool, at), nowMs);
  }

  /** The series of all other features is only sampled: adding up hundreds would take too long. */
  #recordFeature(state: State, license: number, feature: string, at: Instant): void {
    const key = featureKey(state.licenses.get(license)?.terms.product ?? "", feature);
    const series = this.#selectionOf(state).byKey.get(key);
    if (series === undefined || series.isRest) return;
    const nowMs = this.#monotonicMs();
    this.#featurePeak(series, nowMs).record(sumSlotsInUse(series, at), nowMs);
  }

  #featurePeak({ product, feature }: FeatureSeries, nowMs: number): PeakWindow {
    const key = featureKey(product, feature);
    let window = this.#featurePeaks.get(key);
    if (window === undefined) this.#featurePeaks.set(key, (window = new PeakWindow(nowMs)));
    return window;
  }

  /** Installing or removing a license, or reading the state again from the disk, changes it. */
  #selectionOf(state: State): FeatureSelection {
    if (this.#selection?.state !== state) {
      const series = selectFeatures(state);
      const byKey = new Map(series.map((one) => [featureKey(one.product, one.feature), one]));
      this.#selection = { state, series, byKey };
    }
    return this.#selection;
  }

  #seriesOf(state: State): readonly FeatureSeries[] {
    return this.#selectionOf(state).series;
  }
}

const featureFamily = (
  metric: Metric,
  list: readonly FeatureSeries[],
  read: (series: FeatureSeries) => number | null,
): MetricFamily => ({
  metric,
  samples: list.flatMap((series) => toSamples([series.product, series.feature], read(series))),
});

const productsOf = ({ products }: State): string[] => [...products.keys()].toSorted();

const labelsOf = ({ terms, id }: License): readonly string[] => [terms.product, String(id)];

const toSamples = (labels: readonly string[], value: number | null): Sample[] =>
  value === null ? [] : [{ labels, value }];

const toSeconds = (at: Instant | null): number | null => (at === null ? null : at / SECOND);

const OUTCOMES: readonly EpisodeOutcome[] = ["granted", "gave_up", "left"];

/** The denied episodes of the products themselves, and of their features. */
function demandFamilies(
  counts: DemandCounts,
  products: readonly string[],
  features: readonly FeatureSeries[],
): MetricFamily[] {
  const byKey = new Map<string, Readonly<DemandCount>>();
  for (const count of counts.list()) byKey.set(keyOf(count.product, count.feature), count);
  const startedOf = (key: string): number => byKey.get(key)?.started ?? 0;
  return [
    {
      metric: METRICS.deniedEpisodes,
      samples: products.map((product) => ({
        labels: [product],
        value: startedOf(keyOf(product, null)),
      })),
    },
    {
      metric: METRICS.deniedEpisodesEnded,
      samples: products.flatMap((product) =>
        OUTCOMES.map((outcome) => ({
          labels: [product, outcome],
          value: byKey.get(keyOf(product, null))?.ended[outcome] ?? 0,
        })),
      ),
    },
    {
      metric: METRICS.featureDeniedEpisodes,
      samples: features.filter(isFloating).map(({ product, feature, keys }) => ({
        labels: [product, feature],
        value: keys.reduce((sum, key) => sum + startedOf(key), 0),
      })),
    },
  ];
}

/** A product itself has a key that no feature can have. */
const keyOf = (product: string, feature: string | null): string =>
  feature === null ? product : featureKey(product, feature);
