import { later, type Instant } from "../../domain/time.ts";
import { parseTimestamp } from "../../http/timestamps.ts";
import { isDateOnly } from "../../license/term-times.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { InvalidValue } from "../../platform/options.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { parseDuration } from "./duration.ts";

/**
 * Parses a day (UTC), a time, or a duration before now, and returns it as RFC 3339. A day is
 * included completely: `since` means its beginning, `until` its end.
 */
export function parseTimeFlag(
  flag: "since" | "until",
  text: string,
  now: Instant,
): Result<string, InvalidValue> {
  const duration = parseDuration(text);
  if (duration !== null) return ok(rfc3339(later(now, -duration)));
  const timeOfDay = flag === "since" ? "T00:00:00.000Z" : "T23:59:59.999Z";
  const at = parseTimestamp(isDateOnly(text) ? text + timeOfDay : text);
  if (at !== null) return ok(rfc3339(at));
  const hint =
    "for example 2026-11-15, 2026-11-15T08:00:00Z, or 7d for seven days ago; days are in UTC";
  return err({ problem: `must be a day, a time or a duration: ${text}`, hint });
}
