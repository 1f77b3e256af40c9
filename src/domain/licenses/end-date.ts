import { DAY, HOUR, MINUTE, type Instant } from "../time.ts";

/** Long enough to have a license, a certificate or a token renewed. */
const WARNING_PERIOD = 30 * DAY;

/** Whether an operator should be warned of this end. */
export const isEndingSoon = (end: Instant, now: Instant): boolean => end - now < WARNING_PERIOD;

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
