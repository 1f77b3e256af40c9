import { formatDate, formatNumber, formatDateTime } from "../format.ts";
import { terms as say } from "../texts/terms.ts";
import type { Feature, License } from "./license.ts";

/** A license in words, as a list of what and how much. */
export type TermRows = readonly (readonly [name: string, text: string])[];

export function termsOf(license: License): TermRows {
  const { labels } = say;
  const { product_details: product, customer, metadata, license_key: key } = license;
  return [
    [labels.product, say.product(product.product_name, product.short_code)],
    [labels.type, typeTextOf(license)],
    ...(key === null ? [] : [[labels.key, key] as const]),
    ...(customer === null ? [] : [[labels.customer, customer] as const]),
    [labels.validity, validityTextOf(license)],
    [labels.grace, graceTextOf(license)],
    ...maintenanceRowsOf(license),
    [labels.slots, say.slots(license.floating_users)],
    [labels.timeout, say.timeout(license.floating_timeout)],
    [labels.borrow, borrowTextOf(license)],
    [labels.consumption, consumptionTextOf(license, license.max_consumptions)],
    ...(license.policy_id === null ? [] : [[labels.policy, license.policy_id] as const]),
    ...(metadata === null ? [] : [[labels.metadata, metadata] as const]),
  ];
}

const typeTextOf = ({ license_type: type, is_trial }: License): string =>
  is_trial ? say.trial(say.types[type] ?? type) : (say.types[type] ?? type);

export function validityTextOf({ start_date: start, validity_period: end }: License): string {
  if (end === null) return start === null ? say.noEndDate : say.from(formatDate(start));
  return start === null
    ? say.until(formatDateTime(end))
    : say.between(formatDate(start), formatDateTime(end));
}

function graceTextOf({ validity_period: end, grace_period: hours }: License): string {
  if (end === null) return say.graceNotNeeded;
  return hours === null || hours === 0 ? say.noGrace : say.grace(durationText(hours));
}

const maintenanceRowsOf = ({ maintenance_period: end }: License): TermRows =>
  end === null ? [] : [[say.labels.maintenance, say.until(formatDate(end))]];

export const borrowTextOf = ({ can_borrow, max_borrow_time: hours }: License): string =>
  can_borrow && hours !== null ? say.borrow(durationText(hours)) : say.noBorrow;

type ConsumptionTerms = Pick<
  License,
  | "allow_unlimited_consumptions"
  | "max_overages"
  | "allow_negative_consumptions"
  | "consumption_period"
>;

export function consumptionTextOf(counting: ConsumptionTerms, max: number | null): string {
  if (max === null && !counting.allow_unlimited_consumptions) return say.notCounted;
  const { consumption_period: period, max_overages: over } = counting;
  return [
    max === null ? say.unlimited : say.upTo(formatNumber(max)),
    period === null ? "" : ` ${say.periods[period] ?? period}`,
    over === 0 || max === null ? "" : say.overages(formatNumber(over)),
    counting.allow_negative_consumptions ? say.negativeAllowed : "",
  ].join("");
}

/** What a feature may do, in a line. */
export function featureTextOf(feature: Feature): string {
  const { floating_users: slots, floating_timeout: timeout, expiry_date: end } = feature;
  const parts = [
    ...(slots === null ? [] : [say.slots(slots)]),
    ...(timeout === null ? [] : [say.timeout(timeout)]),
    ...(feature.feature_type === "consumption"
      ? [consumptionTextOf(feature, feature.max_consumption)]
      : []),
    ...(end === null ? [] : [say.until(formatDateTime(end))]),
  ];
  return parts.length === 0 ? say.included : parts.join("; ");
}

/** Whole days where they are. */
const durationText = (hours: number): string =>
  hours >= 48 && hours % 24 === 0 ? say.days(hours / 24) : say.hours(hours);
