import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import { formatCount } from "../frame/terminal.ts";

/** Texts that the formats for people share. */

export const PERCENTILES =
  "p95 and p99 of slots in use: the level that use stayed at or under for 95 % and 99 % of the " +
  "observed time. p95 of waiting times: the smallest one that 95 % of the granted episodes did " +
  "not exceed.";

export const EPISODE_MEANING =
  "A denied episode is one need of one user that was not met at once, with all its retries.";

export const poolName = ({
  product,
  feature,
}: {
  readonly product: string;
  readonly feature: string | null;
}): string => (feature === null ? product : `${product} ${feature}`);

export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${(seconds / 3_600).toFixed(1)} h`;
  return `${(seconds / 86_400).toFixed(1)} d`;
}

export const formatHours = (hours: number): string => hours.toFixed(1);

export const OUTCOMES = { granted: "granted", gave_up: "gave up", left: "left" } as const;

/** Why an episode was denied, in words. */
export const formatReason = ({
  code,
  rule,
}: {
  readonly code: string;
  readonly rule: string | null;
}): string => (rule === null ? (REASONS.get(code) ?? code) : `limit ${rule}`);

const REASONS = new Map([["floating_not_available", "no slot was free"]]);

/** A time in the zone of the report, to the second. */
export const createZoneFormatter =
  ({ time_zone }: Pick<ReportReply, "time_zone">) =>
  (time: string | null): string =>
    time === null
      ? "-"
      : Temporal.Instant.from(time)
          .toZonedDateTimeISO(time_zone)
          .toString({ smallestUnit: "second", offset: "never", timeZoneName: "never" })
          .replace("T", " ");

/** So many periods are named. */
const SHOWN_MISSING = 10;

/** The days whose figures are too low because the audit log lacks lines; null: none. */
export function describeMissing({
  missing,
  time_zone,
}: Pick<ReportReply, "missing" | "time_zone">): string | null {
  if (missing.length === 0) return null;
  const dayOf = (time: string): string =>
    Temporal.Instant.from(time).toZonedDateTimeISO(time_zone).toPlainDate().toString();
  const periods: { readonly from: string; to: string }[] = [];
  for (const { from, to } of missing) {
    const last = periods.at(-1);
    if (last !== undefined && dayOf(from) <= last.to) last.to = dayOf(to);
    else periods.push({ from: dayOf(from), to: dayOf(to) });
  }
  const texts = periods
    .slice(0, SHOWN_MISSING)
    .map(({ from, to }) => (from === to ? from : `${from} to ${to}`));
  const more = periods.length - texts.length;
  const days = [...texts, ...(more > 0 ? [`${more} more periods`] : [])].join(", ");
  return `the audit log lacks lines of ${days}: the figures of these days are too low`;
}

export const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Which rows are missing, as a sentence; null: none. */
export function describeOmitted({ omitted }: ReportReply): string | null {
  const parts = Object.entries(omitted)
    .filter(([, count]) => count > 0)
    .map(([list, count]) => `${count} of ${list.replace("_", " ")}`);
  return parts.length === 0 ? null : `rows left out: ${parts.join(", ")}`;
}

export function describeDenials({ denials }: ReportReply): string {
  const { episodes, open, people, attempts, granted, gave_up, left, waits } = denials;
  const notEnded = `${formatCount(open, "episode")} not ended yet, listed when the retries stop`;
  if (episodes === 0) return open === 0 ? "no user was denied a slot" : notEnded;
  const persons = people === 1 ? "1 person" : `${people} people`;
  const counts = `${formatCount(episodes, "episode")} of ${persons}, ${formatCount(attempts, "refused call")}`;
  const outcomes = `${granted} granted later, ${gave_up} gave up, ${left} left`;
  const waiting =
    waits === null
      ? ""
      : `; waited: median ${formatSeconds(waits.median_seconds)}, p95 ` +
        `${formatSeconds(waits.p95_seconds)}, longest ${formatSeconds(waits.longest_seconds)}`;
  return `${counts}: ${outcomes}${waiting}${open === 0 ? "" : `; ${notEnded}`}`;
}
