import { formatDate, formatEnd, formatNumber } from "../format.ts";
import { terms as texts } from "./terms-texts.ts";
import type { Feature, License } from "./license.ts";

/** The terms of a license as rows of a label and a text. */
export type TermRows = readonly (readonly [name: string, text: string])[];

export function termsOf(license: License): TermRows {
  const { labels } = texts;
  const { product_details: product, customer, metadata, license_key: key } = license;
  return [
    [labels.product, texts.product(product.product_name, product.short_code)],
    [labels.type, typeTextOf(license)],
    ...(key === null ? [] : [[labels.key, key] as const]),
    ...(customer === null ? [] : [[labels.customer, customer] as const]),
    [labels.validity, validityTextOf(license)],
    [labels.grace, graceTextOf(license)],
    ...maintenanceRowsOf(license),
    ...(license.hosts === undefined ? [] : [[labels.hosts, texts.hosts(license.hosts)] as const]),
    [labels.slots, texts.slots(license.floating_users)],
    [labels.timeout, texts.timeout(license.floating_timeout)],
    [labels.borrow, borrowTextOf(license)],
    [labels.consumption, consumptionTextOf(license, license.max_consumptions)],
    ...reportRowsOf(license),
    ...(license.policy_id === null ? [] : [[labels.policy, license.policy_id] as const]),
    ...(metadata === null ? [] : [[labels.metadata, metadata] as const]),
  ];
}

const typeTextOf = ({ license_type: type, is_trial }: License): string =>
  is_trial ? texts.trial(texts.types[type] ?? type) : (texts.types[type] ?? type);

export function validityTextOf({ start_date: start, validity_period: end }: License): string {
  if (end === null) return start === null ? texts.noExpiry : texts.from(formatDate(start));
  return start === null
    ? texts.until(formatEnd(end))
    : texts.between(formatDate(start), formatEnd(end));
}

function graceTextOf({ validity_period: end, grace_period: hours }: License): string {
  if (end === null) return texts.graceNotNeeded;
  return hours === null || hours === 0 ? texts.noGrace : texts.grace(durationText(hours));
}

const maintenanceRowsOf = ({ maintenance_period: end }: License): TermRows =>
  end === null ? [] : [[texts.labels.maintenance, texts.until(formatEnd(end))]];

const reportRowsOf = ({ report_every_days: days }: License): TermRows =>
  days === null ? [] : [[texts.labels.statements, texts.statements(days)]];

export const borrowTextOf = ({ can_borrow, max_borrow_time: hours }: License): string =>
  can_borrow && hours !== null ? texts.borrow(durationText(hours)) : texts.noBorrow;

type ConsumptionTerms = Pick<
  License,
  | "allow_unlimited_consumptions"
  | "max_overages"
  | "allow_negative_consumptions"
  | "consumption_period"
>;

export function consumptionTextOf(terms: ConsumptionTerms, max: number | null): string {
  if (max === null && !terms.allow_unlimited_consumptions) return texts.notCounted;
  const { consumption_period: period, max_overages: over } = terms;
  return [
    max === null ? texts.unlimited : texts.upTo(formatNumber(max)),
    period === null ? "" : ` ${texts.periods[period] ?? period}`,
    over === 0 || max === null ? "" : texts.overages(formatNumber(over)),
    terms.allow_negative_consumptions ? texts.negativeAllowed : "",
  ].join("");
}

/** The terms of a feature in one line. */
export function featureTextOf(feature: Feature): string {
  const { floating_users: slots, floating_timeout: timeout, expiry_date: end } = feature;
  const parts = [
    ...(slots === null ? [] : [texts.slots(slots)]),
    ...(timeout === null ? [] : [texts.timeout(timeout)]),
    ...(feature.feature_type === "consumption"
      ? [consumptionTextOf(feature, feature.max_consumption)]
      : []),
    ...(end === null ? [] : [texts.until(formatEnd(end))]),
  ];
  return parts.length === 0 ? texts.included : parts.join("; ");
}

/** In days from 48 hours on, if they are whole days. */
const durationText = (hours: number): string =>
  hours >= 48 && hours % 24 === 0 ? texts.days(hours / 24) : texts.hours(hours);
