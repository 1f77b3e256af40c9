import { describeEnd, isEndingSoon } from "../../domain/licenses/end-date.ts";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../domain/time.ts";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import { parseTimestamp } from "../../http/timestamps.ts";
import { isDateOnly } from "../../license/terms/term-times.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { InvalidValue } from "./options.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";

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

const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** Parses a duration such as `45m`, `48h`, `60d` or `8w` to milliseconds; null: invalid. */
export function parseDuration(text: string): number | null {
  const [, amount, unit = ""] = /^([1-9]\d{0,4})([mhdw])$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (UNITS[unit] ?? 0);
}

const UTC_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;

/**
 * With --local, converts times in Berth's format to this machine's time zone, with the offset, so
 * that they can still be compared. For columns of times and texts, not for columns of names.
 */
export const createTimeFormatter = ({
  local,
}: {
  readonly local: boolean;
}): ((text: string) => string) =>
  local ? (text) => text.replaceAll(UTC_TIME, toLocalTime) : (text) => text;

const toLocalTime = (time: string): string =>
  Temporal.Instant.from(time).toString({
    timeZone: Temporal.Now.timeZoneId(),
    fractionalSecondDigits: time.includes(".") ? 3 : 0,
  });

/** Describes an end that is near; null: no end, or not near. Both times are RFC 3339. */
export function describeEndIfSoon(
  end: string | null,
  { now, expiry_warning_days }: Pick<StatusReply, "now" | "expiry_warning_days">,
): string | null {
  if (end === null) return null;
  const [endsAt, at] = [instant(Date.parse(end)), instant(Date.parse(now))];
  return isEndingSoon(endsAt, at, expiry_warning_days) ? describeEnd(endsAt, at) : null;
}
