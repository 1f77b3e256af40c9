import type { ConsumptionTerms, FeatureTerms, Terms } from "./terms.ts";
import type { Instant } from "./time.ts";

/** What a newer license changes, one short text for each changed term; empty: nothing. */
export function termsDifference(before: Terms, after: Terms): string[] {
  return [
    ...changes(termsShown(before), termsShown(after)),
    ...featuresDifference(before.features, after.features),
  ];
}

/** Terms by the names a person reads. The order is the order of the difference. */
type Shown = Readonly<Record<string, string>>;

const termsShown = (terms: Terms): Shown => ({
  "product name": terms.productName,
  "license key": terms.licenseKey ?? "none",
  type: terms.type,
  customer: terms.customer ?? "none",
  [METADATA]: terms.metadata ?? "",
  trial: yesOrNo(terms.trial),
  enabled: yesOrNo(terms.enabled),
  start: terms.start === null ? "none" : time(terms.start),
  end: end(terms.validUntil),
  "end of maintenance": end(terms.maintenanceUntil),
  grace: amount(terms.graceHours, "h"),
  slots: String(terms.slots),
  timeout: amount(terms.timeoutMinutes, "min"),
  borrowing: amount(terms.borrowHours === 0 ? null : terms.borrowHours, "h"),
  "early return": yesOrNo(terms.earlyReturn),
  "move grace": amount(terms.moveGraceHours, "h"),
  ...consumptionShown(terms.consumption),
});

const featureShown = ({ name, metadata, expires, floating, consumption }: FeatureTerms): Shown => ({
  name,
  [METADATA]: metadata ?? "",
  end: end(expires),
  slots: floating === null ? "none" : String(floating.slots),
  timeout: amount(floating?.timeoutMinutes ?? null, "min"),
  ...consumptionShown(consumption),
});

const consumptionShown = (terms: ConsumptionTerms | null): Shown => ({
  consumptions: terms === null ? "none" : String(terms.max ?? "unlimited"),
  overages: String(terms?.overages ?? 0),
  negative: yesOrNo(terms?.negative ?? false),
  period: terms?.period ?? "none",
});

/** Too long to be shown: only that it is another one is said. */
const METADATA = "metadata";

const changes = (before: Shown, after: Shown): string[] =>
  Object.entries(after)
    .filter(([name, value]) => before[name] !== value)
    .map(([name, value]) =>
      name === METADATA ? `other ${METADATA}` : `${name} ${before[name]} → ${value}`,
    );

function featuresDifference(
  before: readonly FeatureTerms[],
  after: readonly FeatureTerms[],
): string[] {
  const earlier = new Map(before.map((feature) => [feature.code, feature]));
  const later = new Set(after.map(({ code }) => code));
  return [
    ...[...earlier.keys()].filter((code) => !later.has(code)).map((code) => `without ${code}`),
    ...after.flatMap((feature) => {
      const { code } = feature;
      const old = earlier.get(code);
      if (old === undefined) return [`with ${code}`];
      return changes(featureShown(old), featureShown(feature)).map((one) => `${code} ${one}`);
    }),
  ];
}

const yesOrNo = (value: boolean): string => (value ? "yes" : "no");

const amount = (value: number | null, unit: string): string =>
  value === null ? "none" : `${value} ${unit}`;

const time = (at: Instant): string => Temporal.Instant.fromEpochMilliseconds(at).toString();

const end = (at: Instant | null): string => (at === null ? "never" : time(at));
