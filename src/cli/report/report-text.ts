import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import type { ReportTable } from "../../http/routes/usage/report-csv.ts";
import { formatList, type Row } from "../frame/terminal.ts";
import {
  createZoneFormatter,
  describeDenials,
  describeMissing,
  describeOmitted,
  EPISODE_MEANING,
  formatSeconds,
  PERCENTILES,
  poolName,
  WEEKDAYS,
} from "./figures.ts";
import { reportTables } from "./report-tables.ts";

/** So many rows of a list are shown; the other formats have all of them. */
const SHOWN = 20;

/** A report for a terminal. */
export function formatReport(report: ReportReply): string {
  const { omitted } = report;
  const { pools, reasons, episodes, people, idle, borrows, consumption, ending } =
    reportTables(report);
  const sections: (string | null)[] = [
    formatHead(report),
    `SLOTS IN USE\n${pools.length === 0 ? "no licenses yet" : `${formatList(pools)}\n${PERCENTILES}`}`,
    `BUSIEST HOURS\n${formatHeatMaps(report)}`,
    `DENIED EPISODES\n${describeDenials(report)}\n${EPISODE_MEANING}`,
    reasons.length === 0 ? null : formatList(reasons),
    formatDeniedDays(report),
    `WHO WAS TURNED AWAY\n${formatFirstRows(episodes, omitted.episodes, "episodes")}`,
    `PEOPLE\n${formatFirstRows(people, omitted.people, "people")}`,
    `IDLE HOLDERS (no consumption and no feature for ${report.idle_days} days)\n` +
      formatFirstRows(idle, omitted.idle, "idle"),
    borrows.length === 0 ? null : `BORROWS\n${formatList(borrows)}`,
    consumption.length === 0 ? null : `CONSUMPTION\n${formatList(consumption)}`,
    ending.length === 0 ? null : `LICENSES ENDING\n${formatList(ending)}`,
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

function formatFirstRows(rows: readonly Row[], omitted: number, table: ReportTable): string {
  const hidden = rows.length - SHOWN + omitted;
  const more = hidden > 0 ? `\nand ${hidden} more: --format csv --table ${table}` : "";
  return formatList(rows.slice(0, SHOWN), "none") + (rows.length === 0 ? "" : more);
}

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

function formatDeniedDays({ days }: ReportReply): string | null {
  const rows = days
    .filter(({ episodes }) => episodes > 0)
    .toSorted((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0))
    .map(({ waits, ...day }) => ({
      day: day.day,
      product: poolName(day),
      episodes: day.episodes,
      granted: day.granted,
      "gave up": day.gave_up,
      left: day.left,
      "median wait": waits && formatSeconds(waits.median_seconds),
      longest: waits && formatSeconds(waits.longest_seconds),
      peak: `${day.peak} of ${day.limit}`,
    }));
  return rows.length === 0 ? null : formatFirstRows(rows, 0, "days");
}
