import type { ConsumptionTerms, FeatureTerms, Terms } from "./terms.ts";
import type { Instant } from "./time.ts";

/**
 * What a renewal changes, each change in a few words, the most asked for first. A member of the
 * terms that is added without its row here does not compile.
 */
export const describeTermsDifference = (before: Terms, after: Terms): string[] =>
  differenceBy(ROWS, before, after);

type DifferenceRows<T> = { readonly [K in keyof T]: (before: T[K], after: T[K]) => string[] };

function differenceBy<T extends object>(rows: DifferenceRows<T>, before: T, after: T): string[] {
  const names = Object.keys(rows) as (keyof T)[];
  return names.flatMap((name) => rows[name](before[name], after[name]));
}

type PlainValue = string | number | boolean | null;

/** `slots 3 → 8` */
const changed =
  (name: string, none = "none") =>
  (before: PlainValue, after: PlainValue): string[] =>
    before === after ? [] : [`${name} ${formatValue(before, none)} → ${formatValue(after, none)}`];

function formatValue(value: PlainValue, none: string): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? none : String(value);
}

/** `ends 2029-01-01T00:00:00Z (was 2027-01-01T00:00:00Z)` */
const dated =
  (word: string, none: string, noneNow = `${word} ${none}`) =>
  (before: Instant | null, after: Instant | null): string[] => {
    if (before === after) return [];
    const now = after === null ? noneNow : `${word} ${timeOf(after)}`;
    return [`${now} (was ${before === null ? none : timeOf(before)})`];
  };

/** The instant, never the day alone: an end at midnight is the first moment after the last day. */
const timeOf = (at: Instant): string => Temporal.Instant.fromEpochMilliseconds(at).toString();

const ends = dated("ends", "no expiry", "no expiry");

/** Too long to be shown, and for programs rather than for people. */
const note = (before: string | null, after: string | null): string[] =>
  before === after ? [] : ["metadata changed"];

const CONSUMPTION_ROWS: DifferenceRows<ConsumptionTerms> = {
  max: changed("consumptions", "unlimited"),
  overages: changed("overages"),
  negative: changed("negative counts"),
  period: changed("period"),
};

const NOT_COUNTED = { overages: 0, negative: false, period: null };

const maximum = (terms: ConsumptionTerms | null): string =>
  terms === null ? "not counted" : formatValue(terms.max, "unlimited");

function consumption(before: ConsumptionTerms | null, after: ConsumptionTerms | null): string[] {
  if (before !== null && after !== null) return differenceBy(CONSUMPTION_ROWS, before, after);
  if (before === after) return [];
  return [
    `consumptions ${maximum(before)} → ${maximum(after)}`,
    ...(after === null
      ? []
      : differenceBy(CONSUMPTION_ROWS, { ...NOT_COUNTED, max: after.max }, after)),
  ];
}

function floating(before: FeatureTerms["floating"], after: FeatureTerms["floating"]): string[] {
  return [
    ...changed("slots", "not floating")(before?.slots ?? null, after?.slots ?? null),
    ...(before === null || after === null
      ? []
      : changed("timeout minutes")(before.timeoutMinutes, after.timeoutMinutes)),
  ];
}

const FEATURE_ROWS: DifferenceRows<FeatureTerms> = {
  code: () => [],
  floating,
  consumption,
  expires: ends,
  name: changed("name"),
  metadata: note,
};

const named = (terms: readonly FeatureTerms[], code: string): FeatureTerms | undefined =>
  terms.find((feature) => feature.code === code);

function features(before: readonly FeatureTerms[], after: readonly FeatureTerms[]): string[] {
  const now = after.flatMap((feature) => {
    const was = named(before, feature.code);
    if (was === undefined) return [`feature ${feature.code} added`];
    return differenceBy(FEATURE_ROWS, was, feature).map((change) => `${feature.code} ${change}`);
  });
  const gone = before.filter(({ code }) => named(after, code) === undefined);
  return [...now, ...gone.map(({ code }) => `feature ${code} removed`)];
}

const ROWS: DifferenceRows<Terms> = {
  product: changed("product"),
  productName: changed("product name"),
  licenseKey: changed("license key"),
  customer: changed("customer"),
  type: changed("type"),
  trial: changed("trial"),
  enabled: changed("enabled"),
  slots: changed("slots"),
  start: dated("starts", "immediately"),
  validUntil: ends,
  graceHours: changed("grace hours"),
  maintenanceUntil: dated("maintenance until", "without expiry", "maintenance without expiry"),
  timeoutMinutes: changed("timeout minutes"),
  borrowHours: changed("borrow hours"),
  earlyReturn: changed("early return"),
  moveGraceHours: changed("move grace hours"),
  consumption,
  features,
  metadata: note,
};
