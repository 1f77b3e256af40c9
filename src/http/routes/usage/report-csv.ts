import { csvRecord } from "../../../domain/text/csv.ts";
import type { ReportReply } from "./report-schema.ts";

type Cell = string | number | null;
type Row = Readonly<Record<string, Cell>>;

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** One table of a report as rows of named cells: a file of CSV can hold only one. */
const TABLES = {
  utilisation: ({ pools }: ReportReply): Row[] =>
    pools.map(({ heat_map: _heatMap, limits, ...figures }) => ({
      ...figures,
      limits: limits.map(({ from, limit }) => `${limit} from ${from}`).join(", "),
    })),
  days: ({ days }: ReportReply): Row[] =>
    days.map(({ waits, ...day }) => ({
      ...day,
      wait_median_seconds: waits?.median_seconds ?? null,
      wait_p95_seconds: waits?.p95_seconds ?? null,
      wait_longest_seconds: waits?.longest_seconds ?? null,
    })),
  episodes: ({ episodes }: ReportReply): Row[] => episodes,
  people: ({ people }: ReportReply): Row[] => people,
  idle: ({ idle }: ReportReply): Row[] => idle,
  borrows: ({ borrows }: ReportReply): Row[] => borrows,
  consumption: ({ consumption }: ReportReply): Row[] => consumption,
  ending: ({ ending }: ReportReply): Row[] => ending,
  heatmap: ({ pools }: ReportReply): Row[] =>
    pools.flatMap(({ product, feature, heat_map: { mean, peak } }) =>
      mean.flatMap((hours, weekday) =>
        hours.map((value, hour) => ({
          product,
          feature,
          weekday: WEEKDAYS[weekday] ?? "",
          hour,
          mean: value,
          peak: peak[weekday]?.[hour] ?? null,
        })),
      ),
    ),
  sessions: ({ sessions }: ReportReply): Row[] => sessions,
} as const satisfies Readonly<Record<string, (report: ReportReply) => Row[]>>;

export type ReportTable = keyof typeof TABLES;

export const REPORT_TABLES = Object.keys(TABLES) as readonly ReportTable[];

/** The columns of tables that may be empty: a file without rows still has its header. */
const COLUMNS: { readonly [T in ReportTable]: readonly string[] } = {
  utilisation: [
    "product",
    "feature",
    "limit",
    "peak",
    "p95",
    "p99",
    "mean",
    "hours_at_limit",
    "observed_hours",
    "slot_hours",
    "sessions",
    "people",
    "episodes",
    "open_episodes",
    "limits",
  ],
  days: [
    "day",
    "product",
    "feature",
    "limit",
    "peak",
    "slot_hours",
    "hours_at_limit",
    "people",
    "episodes",
    "attempts",
    "granted",
    "gave_up",
    "left",
    "wait_median_seconds",
    "wait_p95_seconds",
    "wait_longest_seconds",
    "consumption",
  ],
  episodes: [
    "first_at",
    "last_at",
    "person",
    "user",
    "peer",
    "product",
    "feature",
    "code",
    "rule",
    "attempts",
    "outcome",
    "waited_seconds",
  ],
  people: ["person", "product", "feature", "slot_hours", "sessions", "borrows", "episodes"],
  idle: [
    "person",
    "user",
    "product",
    "license_id",
    "host",
    "peer",
    "held_since",
    "last_seen_at",
    "last_use_at",
    "idle_days",
    "borrowed_until",
  ],
  borrows: ["product", "borrows", "people", "borrowed_hours", "longest_hours"],
  consumption: ["product", "feature", "license_id", "counted", "total", "max", "overage", "people"],
  ending: ["product", "feature", "license_id", "slots", "ends_at"],
  heatmap: ["product", "feature", "weekday", "hour", "mean", "peak"],
  sessions: [
    "product",
    "feature",
    "license_id",
    "slot",
    "person",
    "user",
    "host",
    "peer",
    "start",
    "end",
    "ended_by",
  ],
};

/** The records of one table, the header first. */
export function reportCsv(report: ReportReply, table: ReportTable): string[] {
  const columns = COLUMNS[table];
  const rows: readonly Row[] = TABLES[table](report);
  const cells = rows.map((row) => columns.map((column) => String(row[column] ?? "")));
  return [columns, ...cells].map(csvRecord);
}
