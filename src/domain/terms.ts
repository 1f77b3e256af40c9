import { HOUR, later, type Instant, type Period } from "./time.ts";

export type LicenseType = "perpetual" | "time-limited" | "subscription" | "consumption";

/** What the vendor granted. Nothing here changes but by the vendor's next license. */
export interface Terms {
  readonly product: string;
  readonly productName: string;
  readonly licenseKey: string | null;
  readonly type: LicenseType;
  readonly customer: string | null;
  readonly metadata: string | null;
  readonly trial: boolean;
  readonly enabled: boolean;
  readonly start: Instant | null;
  readonly validUntil: Instant | null;
  readonly maintenanceUntil: Instant | null;
  /** Null: no grace, the license ends when its validity does. */
  readonly graceHours: number | null;
  readonly slots: number;
  readonly timeoutMinutes: number;
  /** Null or 0: slots of this license cannot be borrowed. */
  readonly borrowHours: number | null;
  /** False: a borrowed slot stays taken until its end, whoever asks. */
  readonly earlyReturn: boolean;
  /** How long the license serves on other hardware after a move, while the site asks anew. */
  readonly moveGraceHours: number;
  /** Null: this license does not count. */
  readonly consumption: ConsumptionTerms | null;
  readonly features: readonly FeatureTerms[];
}

export interface ConsumptionTerms {
  /** Null: unlimited. */
  readonly max: number | null;
  /** How far past `max` the total may go; 0 allows none. */
  readonly overages: number;
  readonly negative: boolean;
  /** Null: the total never resets. */
  readonly period: Period | null;
}

export interface FeatureTerms {
  readonly code: string;
  readonly name: string;
  readonly metadata: string | null;
  readonly expires: Instant | null;
  /** Null: not floating. */
  readonly floating: { readonly slots: number; readonly timeoutMinutes: number } | null;
  /** Null: an activation feature, which does not count. */
  readonly consumption: ConsumptionTerms | null;
}

export const canBorrow = ({ borrowHours }: Terms): boolean => (borrowHours ?? 0) > 0;

/** Its terms name a date or a period, so that the vendor's time is what counts. */
export const hasDateOrPeriod = (terms: Terms): boolean =>
  getLicenseEnd(terms) !== null ||
  terms.start !== null ||
  terms.consumption?.period != null ||
  terms.features.some(
    ({ expires, consumption }) => expires !== null || consumption?.period != null,
  );

/** A clock set back could lend more than was granted; a borrow is a date too. */
export const isTimeDependent = (terms: Terms): boolean =>
  hasDateOrPeriod(terms) || canBorrow(terms);

/** The instant from which nothing is granted any more, grace included; null when there is none. */
export function getLicenseEnd({ validUntil, graceHours }: Terms): Instant | null {
  return validUntil === null ? null : later(validUntil, (graceHours ?? 0) * HOUR);
}

/**
 * A feature the renewed license no longer names: whoever holds a slot keeps it, nothing is
 * granted.
 */
export function withdrawFeature(terms: FeatureTerms): FeatureTerms {
  const { floating, consumption } = terms;
  return {
    ...terms,
    floating: floating && { ...floating, slots: 0 },
    consumption: consumption && { ...consumption, max: 0, overages: 0 },
  };
}
