import { DAY, instant, type Instant } from "./time.ts";

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
