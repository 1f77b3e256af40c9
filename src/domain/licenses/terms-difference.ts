import type { ConsumptionTerms, FeatureTerms, Terms } from "../model/licenses/terms.ts";
import type { Instant } from "../time.ts";

/**
 * Describes what a renewal changes, each change in a few words, the most important first. A member
 * that is added to the terms without a row here does not compile.
 */
export const describeTermsDifference = (before: Terms, after: Terms): string[] =>
  differenceBy(ROWS, before, after);

/** Hardware ids of the hosts of a pair; undefined: the license is for one host. */
type HostIds = readonly string[] | undefined;

/** `hosts 1 → 2`; the hosts are not among the terms, because they are hardware. */
export function describeHostDifference(before: HostIds, after: HostIds): string[] {
  const [from, to] = [before?.length ?? 1, after?.length ?? 1];
  if (from !== to) return [`hosts ${from} → ${to}`];
  const isSame = before === undefined || after?.every((id) => before.includes(id)) === true;
  return isSame ? [] : ["other hosts"];
}

type DifferenceRows<T> = { readonly [K in keyof T]-?: (before: T[K], after: T[K]) => string[] };

function differenceBy<T extends object>(rows: DifferenceRows<T>, before: T, after: T): string[] {
  const names = Object.keys(rows) as (keyof T)[];
  return names.flatMap((name) => rows[name](before[name], after[name]));
}

type PlainValue = string | number | boolean | null;

/** `slots 3 → 8` */
const compareValue =
  (name: string, none = "none") =>
  (before: PlainValue, after: PlainValue): string[] =>
    before === after ? [] : [`${name} ${formatValue(before, none)} → ${formatValue(after, none)}`];

function formatValue(value: PlainValue, none: string): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? none : String(value);
}

/** `ends 2029-01-01T00:00:00Z (was 2027-01-01T00:00:00Z)` */
const compareDate =
  (word: string, none: string, noneNow = `${word} ${none}`) =>
  (before: Instant | null, after: Instant | null): string[] => {
    if (before === after) return [];
    const now = after === null ? noneNow : `${word} ${formatInstant(after)}`;
    return [`${now} (was ${before === null ? none : formatInstant(before)})`];
  };

/**
 * The full instant, never the day alone: an end at midnight is the first instant after the last
 * day.
 */
const formatInstant = (at: Instant): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toString();

const compareEnd = compareDate("ends", "no expiry", "no expiry");

/** Metadata is too long to show, and meant for programs. */
const compareMetadata = (before: string | null, after: string | null): string[] =>
  before === after ? [] : ["metadata changed"];

const CONSUMPTION_ROWS: DifferenceRows<ConsumptionTerms> = {
  max: compareValue("consumptions", "unlimited"),
  overages: compareValue("overages"),
  negative: compareValue("negative counts"),
  period: compareValue("period"),
};

const NOT_COUNTED = { overages: 0, negative: false, period: null };

const formatMaximum = (terms: ConsumptionTerms | null): string =>
  terms === null ? "not counted" : formatValue(terms.max, "unlimited");

function compareConsumption(
  before: ConsumptionTerms | null,
  after: ConsumptionTerms | null,
): string[] {
  if (before !== null && after !== null) return differenceBy(CONSUMPTION_ROWS, before, after);
  if (before === after) return [];
  return [
    `consumptions ${formatMaximum(before)} → ${formatMaximum(after)}`,
    ...(after === null
      ? []
      : differenceBy(CONSUMPTION_ROWS, { ...NOT_COUNTED, max: after.max }, after)),
  ];
}

function compareFloating(
  before: FeatureTerms["floating"],
  after: FeatureTerms["floating"],
): string[] {
  return [
    ...compareValue("slots", "not floating")(before?.slots ?? null, after?.slots ?? null),
    ...(before === null || after === null
      ? []
      : compareValue("timeout minutes")(before.timeoutMinutes, after.timeoutMinutes)),
  ];
}

const FEATURE_ROWS: DifferenceRows<FeatureTerms> = {
  code: () => [],
  floating: compareFloating,
  consumption: compareConsumption,
  expires: compareEnd,
  name: compareValue("name"),
  metadata: compareMetadata,
};

const findFeature = (terms: readonly FeatureTerms[], code: string): FeatureTerms | undefined =>
  terms.find((feature) => feature.code === code);

function compareFeatures(
  before: readonly FeatureTerms[],
  after: readonly FeatureTerms[],
): string[] {
  const changes = after.flatMap((feature) => {
    const previous = findFeature(before, feature.code);
    if (previous === undefined) return [`feature ${feature.code} added`];
    return differenceBy(FEATURE_ROWS, previous, feature).map(
      (change) => `${feature.code} ${change}`,
    );
  });
  const removed = before.filter(({ code }) => findFeature(after, code) === undefined);
  return [...changes, ...removed.map(({ code }) => `feature ${code} removed`)];
}

const ROWS: DifferenceRows<Terms> = {
  product: compareValue("product"),
  productName: compareValue("product name"),
  licenseKey: compareValue("license key"),
  customer: compareValue("customer"),
  type: compareValue("type"),
  trial: compareValue("trial"),
  enabled: compareValue("enabled"),
  slots: compareValue("slots"),
  start: compareDate("starts", "immediately"),
  validUntil: compareEnd,
  graceHours: compareValue("grace hours"),
  maintenanceUntil: compareDate(
    "maintenance until",
    "without expiry",
    "maintenance without expiry",
  ),
  timeoutMinutes: compareValue("timeout minutes"),
  borrowHours: compareValue("borrow hours"),
  earlyReturn: compareValue("early return"),
  moveGraceHours: compareValue("move grace hours"),
  restoreGraceHours: (before, after) =>
    compareValue("restore grace hours")(before ?? null, after ?? null),
  reportEveryDays: (before, after) =>
    compareValue("days between usage statements")(before ?? null, after ?? null),
  consumption: compareConsumption,
  features: compareFeatures,
  metadata: compareMetadata,
};
