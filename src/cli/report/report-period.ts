import { DAY, instant, later, type Instant } from "../../domain/time.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { MAX_PERIOD_DAYS } from "../../usage/report/report.ts";
import { parseTimestamp } from "../../http/timestamps.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { isTimeZone } from "../../usage/report/local-hours.ts";
import { Misuse, text, type InvalidValue } from "../frame/options.ts";
import { parseDuration } from "../frame/times.ts";

const EXAMPLE = "for example --month 2026-10, --last 30d, or --from 2026-10-05 --to 2026-10-11";

const TOO_LONG = `a report covers at most ${MAX_PERIOD_DAYS} days: choose a shorter period`;

/** The flags that choose the period of a report. */
export const periodOptions = {
  from: text("--from TIME", "the first day, or an RFC 3339 time; default: 30 days before the end"),
  to: text("--to TIME", "the last day, to its end, or an RFC 3339 time; default: now"),
  month: text("--month YYYY-MM", "this month, instead of --from and --to"),
  last: text(
    "--last DURATION",
    "the time before now, such as 30d (h, d, w), instead of --from and --to",
  ),
  timeZone: text("--time-zone ZONE", "of days and hours, such as Europe/Berlin or +01:00", {
    defaultValue: () => Temporal.Now.timeZoneId(),
    defaultDescription: "this machine's",
    parse: (text: string): Result<string, InvalidValue> =>
      isTimeZone(text)
        ? ok(text)
        : err({
            problem: `must be a time zone: ${text}`,
            hint: "for example --time-zone Europe/Berlin, or --time-zone UTC",
          }),
  }),
};

export interface PeriodFlags {
  readonly from: string | null;
  readonly to: string | null;
  readonly month: string | null;
  readonly last: string | null;
  readonly timeZone: string;
}

/** The period as the API expects it; null: as the API chooses. */
export interface Period {
  readonly from: string | null;
  readonly to: string | null;
}

export function readPeriod(flags: PeriodFlags, now: Instant): Period {
  const { from, to, month, last, timeZone } = flags;
  const ways = [from !== null || to !== null, month !== null, last !== null];
  if (ways.filter(Boolean).length > 1) {
    throw new Misuse("--from and --to, --month, and --last exclude each other", EXAMPLE);
  }
  if (month !== null) return readMonth(month, timeZone, now);
  if (last !== null) {
    const duration = parseDuration(last);
    if (duration === null) throw new Misuse(`--last must be a duration: ${last}`, EXAMPLE);
    if (duration > MAX_PERIOD_DAYS * DAY) throw new Misuse(`--last ${last} is too long`, TOO_LONG);
    return { from: rfc3339(later(now, -duration)), to: rfc3339(now) };
  }
  const start = from === null ? null : readTime("from", from, timeZone);
  const end = to === null ? null : readTime("to", to, timeZone);
  if (start !== null && start >= (end ?? now))
    throw new Misuse(
      end === null ? "--from must be in the past" : "--from must be before --to",
      EXAMPLE,
    );
  if (start !== null && (end ?? now) - start > MAX_PERIOD_DAYS * DAY)
    throw new Misuse(
      `the time from --from to ${end === null ? "now" : "--to"} is too long`,
      TOO_LONG,
    );
  return {
    from: start === null ? null : rfc3339(start),
    to: end === null ? null : rfc3339(end),
  };
}

function readMonth(month: string, timeZone: string, now: Instant): Period {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month))
    throw new Misuse(`--month must be a month: ${month}`, EXAMPLE);
  const first = Temporal.PlainDate.from(`${month}-01`);
  const next = first.add({ months: 1 });
  const startOf = (date: Temporal.PlainDate): Instant =>
    instant(date.toZonedDateTime(timeZone).epochMilliseconds);
  if (startOf(first) > now) throw new Misuse(`--month ${month} has not begun yet`, EXAMPLE);
  return { from: rfc3339(startOf(first)), to: rfc3339(startOf(next)) };
}

function readTime(flag: "from" | "to", text: string, timeZone: string): Instant {
  const at = parseTimestamp(text);
  if (at !== null) return at;
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? parseDay(text) : null;
  if (day === null) throw new Misuse(`--${flag} must be a day or a time: ${text}`, EXAMPLE);
  const date = flag === "from" ? day : day.add({ days: 1 });
  return instant(date.toZonedDateTime(timeZone).epochMilliseconds);
}

function parseDay(text: string): Temporal.PlainDate | null {
  try {
    return Temporal.PlainDate.from(text);
  } catch {
    return null;
  }
}
