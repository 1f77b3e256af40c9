import { later, type Instant } from "../domain/time.ts";
import { parseTimestamp } from "../http/timestamps.ts";
import { isDateOnly } from "../license/term-times.ts";
import { Misuse } from "../platform/options.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { parseDuration } from "./duration.ts";

/**
 * A day of UTC, a time, or a span back from now, as RFC 3339. Both ends count, so a day is taken
 * whole: from its beginning, or until its end.
 */
export function parseTimeFlag(flag: "since" | "until", text: string, now: Instant): string {
  const span = parseDuration(text);
  if (span !== null) return rfc3339(later(now, -span));
  const edge = flag === "since" ? "T00:00:00.000Z" : "T23:59:59.999Z";
  const at = parseTimestamp(isDateOnly(text) ? text + edge : text);
  if (at !== null) return rfc3339(at);
  throw new Misuse(
    `--${flag} must be a day, a time or a duration: ${text}`,
    "for example 2026-11-15, 2026-11-15T08:00:00Z, or 7d for seven days ago; days are in UTC",
  );
}
