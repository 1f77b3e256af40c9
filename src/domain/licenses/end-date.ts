import { DAY, HOUR, MINUTE, type Instant } from "../time.ts";

/** Long enough to have a license, a certificate or a token renewed. */
export const DEFAULT_WARNING_DAYS = 30;

/** The time, and how many days before an end an operator is warned of it. */
export interface WarningTime {
  readonly now: Instant;
  readonly warningDays: number;
}

/** Whether an operator should be warned of this end, so many days ahead. */
export const isEndingSoon = (end: Instant, now: Instant, warningDays: number): boolean =>
  end - now < warningDays * DAY;

/**
 * Describes when something ends. Days are counted in UTC; for today and tomorrow the time is
 * included.
 */
export function describeEnd(end: Instant, now: Instant): string {
  if (end <= now) return "has expired";
  const days = Math.floor(end / DAY) - Math.floor(now / DAY);
  const minutes = Math.floor((end % DAY) / MINUTE);
  const time = `${twoDigits(Math.floor((minutes * MINUTE) / HOUR))}:${twoDigits(minutes % 60)} UTC`;
  if (days === 0) return `expires today at ${time}`;
  return days === 1 ? `expires tomorrow at ${time}` : `expires in ${days} days`;
}

const twoDigits = (value: number): string => String(value).padStart(2, "0");
