declare const unit: unique symbol;

/**
 * Milliseconds since 1970 UTC. Every end in Berth is exclusive: something is valid while now < end.
 */
export type Instant = number & { readonly [unit]: "instant" };

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const instant = (milliseconds: number): Instant => milliseconds as Instant;

export const later = (from: Instant, milliseconds: number): Instant => instant(from + milliseconds);

export const latest = (a: Instant, b: Instant): Instant => (a > b ? a : b);

export const earliest = (a: Instant, b: Instant): Instant => (a < b ? a : b);

/** How often a consumption total starts again at zero. */
export type Period = "daily" | "weekly" | "monthly" | "annually";

/** The first UTC boundary after `at`: midnight, Monday, the 1st, 1 January. */
export function findNextPeriodStart(period: Period, at: Instant): Instant {
  if (period === "daily") return instant((Math.floor(at / DAY) + 1) * DAY);
  const day = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO("UTC").startOfDay();
  const boundary = {
    weekly: () => day.add({ days: 8 - day.dayOfWeek }),
    monthly: () => day.with({ day: 1 }).add({ months: 1 }),
    annually: () => day.with({ month: 1, day: 1 }).add({ years: 1 }),
  }[period]();
  return instant(boundary.epochMilliseconds);
}

/** The first instant of the UTC day that contains `at`. */
export const startOfDay = (at: Instant): Instant => instant(Math.floor(at / DAY) * DAY);

/** The UTC day that contains `at`, as YYYY-MM-DD. */
export const dayOf = (at: Instant): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toString().slice(0, 10);

/** The first instant of a day as YYYY-MM-DD; null: there is no such day. */
export function parseDay(text: string): Instant | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  try {
    return instant(Temporal.Instant.from(`${text}T00:00:00Z`).epochMilliseconds);
  } catch {
    return null;
  }
}

/** The number of whole days between the beginnings of two days. */
export const countDays = (from: Instant, to: Instant): number => Math.round((to - from) / DAY);
