import type { ReportPoolReply, ReportReply } from "../../http/routes/usage/report-schema.ts";
import { formatTable } from "../frame/terminal.ts";
import {
  createZoneFormatter,
  describeDenials,
  describeMissing,
  describeOmitted,
  EPISODE_MEANING,
  formatHours,
  formatReason,
  formatSeconds,
  OUTCOMES,
  PERCENTILES,
  poolName,
  WEEKDAYS,
} from "./figures.ts";

/** So many rows of a list are shown; the other formats have all of them. */
const SHOWN = 20;

/** A report for a terminal. */
export function formatReport(report: ReportReply): string {
  const formatTime = createZoneFormatter(report);
  const sections: (string | null)[] = [
    formatHead(report),
    section("SLOTS IN USE", formatPools(report)),
    section("BUSIEST HOURS", formatHeatMaps(report)),
    section("DENIED EPISODES", describeDenials(report), EPISODE_MEANING),
    formatReasons(report),
    formatDeniedDays(report),
    section(
      "WHO WAS TURNED AWAY",
      ...formatList(
        ["FIRST", "USER", "PRODUCT", "WHY", "ATTEMPTS", "OUTCOME", "WAITED"],
        report.episodes
          .toReversed()
          .map((episode) => [
            formatTime(episode.first_at),
            episode.user,
            poolName(episode),
            formatReason(episode),
            String(episode.attempts),
            OUTCOMES[episode.outcome],
            formatSeconds(episode.waited_seconds),
          ]),
        report.omitted.episodes,
        "episodes",
      ),
    ),
    section(
      "PEOPLE",
      ...formatList(
        ["PERSON", "PRODUCT", "SLOT HOURS", "SESSIONS", "BORROWS", "DENIED"],
        report.people.map((person) => [
          person.person,
          poolName(person),
          formatHours(person.slot_hours),
          String(person.sessions),
          String(person.borrows),
          String(person.episodes),
        ]),
        report.omitted.people,
        "people",
      ),
    ),
    section(
      `IDLE HOLDERS (no consumption and no feature for ${report.idle_days} days)`,
      ...formatList(
        ["USER", "PRODUCT", "HOST", "HELD SINCE", "LAST SEEN", "IDLE DAYS", "BORROWED UNTIL"],
        report.idle.map((holder) => [
          holder.user,
          holder.product,
          holder.host,
          formatTime(holder.held_since),
          formatTime(holder.last_seen_at),
          String(holder.idle_days),
          formatTime(holder.borrowed_until),
        ]),
        report.omitted.idle,
        "idle",
      ),
    ),
    formatBorrows(report),
    formatConsumption(report),
    formatEnding(report),
    describeOmitted(report),
  ];
  return sections.filter((text) => text !== null).join("\n\n");
}

function formatHead(report: ReportReply): string {
  const formatTime = createZoneFormatter(report);
  const { from, to, known_from, as_of, time_zone } = report;
  const lines = [
    `report from ${formatTime(from)} to ${formatTime(to)}, time zone ${time_zone}`,
    `data as of ${formatTime(as_of)}`,
  ];
  if (known_from > from) lines.push(`nothing is known before ${formatTime(known_from)}`);
  const missing = describeMissing(report);
  if (missing !== null) lines.push(missing);
  if (report.anonymous) lines.push("names, hosts and addresses are replaced with random keys");
  return lines.join("\n");
}

const section = (title: string, ...parts: readonly string[]): string | null =>
  parts.length === 0 ? null : [title, ...parts].join("\n");

/** The first rows of a list; nothing for an empty one. */
function formatList(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  omitted: number,
  table: string,
): string[] {
  if (rows.length === 0) return ["none"];
  const hidden = rows.length - SHOWN + omitted;
  const more = hidden > 0 ? [`and ${hidden} more: --format csv --table ${table}`] : [];
  return [formatTable([header, ...rows.slice(0, SHOWN)]), ...more];
}

function formatPools({ pools }: ReportReply): string {
  const header = [
    "PRODUCT",
    "LIMIT",
    "PEAK",
    "P95",
    "P99",
    "MEAN",
    "HOURS FULL",
    "OBSERVED HOURS",
    "SESSIONS",
    "PEOPLE",
    "DENIED",
  ];
  const rows = pools.map((pool) => [
    poolName(pool),
    formatLimits(pool),
    String(pool.peak),
    String(pool.p95),
    String(pool.p99),
    pool.mean.toFixed(1),
    formatHours(pool.hours_at_limit),
    formatHours(pool.observed_hours),
    String(pool.sessions),
    String(pool.people),
    String(pool.episodes),
  ]);
  return pools.length === 0
    ? "no licenses yet"
    : `${formatTable([header, ...rows])}\n${PERCENTILES}`;
}

/** Such as 4, 6 if the limit changed in the period. */
const formatLimits = ({ limits, limit }: ReportPoolReply): string =>
  limits.length === 0 ? String(limit) : limits.map((step) => String(step.limit)).join(", ");

const LEVELS = "▁▂▃▄▅▆▇█";

/** One character for each hour: the mean use as a share of the limit, or of the peak. */
function formatHeatMaps({ pools }: ReportReply): string {
  const used = pools.filter(({ peak }) => peak > 0);
  if (used.length === 0) return "none";
  return used
    .map((pool) => {
      const full = Math.max(pool.limit, pool.peak);
      const rows = pool.heat_map.mean.map(
        (hours, weekday) =>
          `  ${WEEKDAYS[weekday]} |${hours.map((mean) => bar(mean, full)).join("")}|`,
      );
      const title = `${poolName(pool)}: mean use of ${full} slots, hours 0 to 23`;
      return [title, ...rows].join("\n");
    })
    .join("\n");
}

function bar(mean: number | null, full: number): string {
  if (mean === null) return " ";
  const level = Math.ceil((Math.min(mean, full) / full) * LEVELS.length);
  return level === 0 ? "·" : LEVELS.charAt(level - 1);
}

function formatReasons({ denials: { reasons } }: ReportReply): string | null {
  if (reasons.length === 0) return null;
  const rows = reasons.map((reason) => [
    poolName(reason),
    formatReason(reason),
    String(reason.episodes),
    String(reason.people),
  ]);
  return formatTable([["PRODUCT", "WHY", "EPISODES", "PEOPLE"], ...rows]);
}

function formatDeniedDays({ days }: ReportReply): string | null {
  const rows = days
    .filter(({ episodes }) => episodes > 0)
    .toSorted((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0))
    .map((day) => [
      day.day,
      poolName(day),
      String(day.episodes),
      String(day.granted),
      String(day.gave_up),
      String(day.left),
      day.waits === null ? "-" : formatSeconds(day.waits.median_seconds),
      day.waits === null ? "-" : formatSeconds(day.waits.longest_seconds),
      `${day.peak} of ${day.limit}`,
    ]);
  const header = [
    "DAY",
    "PRODUCT",
    "EPISODES",
    "GRANTED",
    "GAVE UP",
    "LEFT",
    "MEDIAN WAIT",
    "LONGEST",
    "PEAK",
  ];
  return rows.length === 0 ? null : formatList(header, rows, 0, "days").join("\n");
}

function formatBorrows({ borrows }: ReportReply): string | null {
  if (borrows.length === 0) return null;
  const rows = borrows.map((row) => [
    row.product,
    String(row.borrows),
    String(row.people),
    formatHours(row.borrowed_hours),
    formatHours(row.longest_hours),
  ]);
  const header = ["PRODUCT", "BORROWS", "PEOPLE", "HOURS", "LONGEST"];
  return section("BORROWS", formatTable([header, ...rows]));
}

function formatConsumption({ consumption }: ReportReply): string | null {
  if (consumption.length === 0) return null;
  const rows = consumption.map((row) => [
    poolName(row),
    String(row.license_id),
    String(row.counted),
    String(row.total),
    row.max === null ? "unlimited" : String(row.max),
    String(row.overage),
    String(row.people),
  ]);
  const header = ["PRODUCT", "LICENSE", "COUNTED", "TOTAL", "MAXIMUM", "OVERAGE", "PEOPLE"];
  return section("CONSUMPTION", formatTable([header, ...rows]));
}

function formatEnding(report: ReportReply): string | null {
  const formatTime = createZoneFormatter(report);
  if (report.ending.length === 0) return null;
  const rows = report.ending.map((row) => [
    poolName(row),
    String(row.license_id),
    String(row.slots),
    formatTime(row.ends_at),
  ]);
  const header = ["PRODUCT", "LICENSE", "SLOTS", "ENDS"];
  return section("LICENSES ENDING", formatTable([header, ...rows]));
}
