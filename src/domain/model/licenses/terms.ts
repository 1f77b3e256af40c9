import { HOUR, later, type Instant, type Period } from "../../time.ts";

export type LicenseType = "perpetual" | "time-limited" | "subscription" | "consumption";

/** What the vendor granted. Only the vendor's next license changes it. */
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
  /** Null: no grace period; the license ends with its validity. */
  readonly graceHours: number | null;
  readonly slots: number;
  readonly timeoutMinutes: number;
  /** Null or 0: slots of this license cannot be borrowed. */
  readonly borrowHours: number | null;
  /**
   * False: a borrowed slot stays taken until its end, and not even an administrator can release it.
   */
  readonly earlyReturn: boolean;
  /**
   * How long the license is valid on other hardware after a move, while the site requests a new
   * one.
   */
  readonly moveGraceHours: number;
  /**
   * How long the license is valid on other hardware after a backup was restored, once for each
   * serial; absent: not at all. The old machine may still grant the same slots.
   */
  readonly restoreGraceHours?: number;
  /**
   * The vendor wants a usage statement at least this often; absent: it does not. A late one is
   * reported to the operator and stops nothing.
   */
  readonly reportEveryDays?: number;
  /** Null: this license does not count consumption. */
  readonly consumption: ConsumptionTerms | null;
  readonly features: readonly FeatureTerms[];
}

export interface ConsumptionTerms {
  /** Null: unlimited. */
  readonly max: number | null;
  /** How far the total may exceed `max`; 0: not at all. */
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
  /** Null: an activation feature, which does not count consumption. */
  readonly consumption: ConsumptionTerms | null;
}

export const canBorrow = ({ borrowHours }: Terms): boolean => (borrowHours ?? 0) > 0;

/** The terms contain a date or a period, so the vendor's time decides. */
export const hasDateOrPeriod = (terms: Terms): boolean =>
  getLicenseEnd(terms) !== null ||
  terms.start !== null ||
  terms.consumption?.period != null ||
  terms.features.some(
    ({ expires, consumption }) => expires !== null || consumption?.period != null,
  );

/** A clock set back could grant more than the terms allow; a borrow depends on time too. */
export const isTimeDependent = (terms: Terms): boolean =>
  hasDateOrPeriod(terms) || canBorrow(terms);

/** The instant from which nothing is granted any more, including the grace period; null: no end. */
export function getLicenseEnd({ validUntil, graceHours }: Terms): Instant | null {
  return validUntil === null ? null : later(validUntil, (graceHours ?? 0) * HOUR);
}

/**
 * A feature that the renewed license no longer contains: slots already held stay, but nothing more
 * is granted.
 */
export function withdrawFeature(terms: FeatureTerms): FeatureTerms {
  const { floating, consumption } = terms;
  return {
    ...terms,
    floating: floating && { ...floating, slots: 0 },
    consumption: consumption && { ...consumption, max: 0, overages: 0 },
  };
}
