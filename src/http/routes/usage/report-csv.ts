import { csvRecords } from "../../../domain/text/csv.ts";
import { ReportReply } from "./report-schema.ts";

type Cell = string | number | null;

/** One table of a report as rows of named cells: a file of CSV can hold only one. */
interface Table {
  /** A file without rows still has its header. */
  readonly columns: readonly string[];
  readonly rows: (report: ReportReply) => readonly Readonly<Record<string, Cell>>[];
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const { properties } = ReportReply;
type PlainList = "episodes" | "people" | "idle" | "borrows" | "consumption" | "ending" | "sessions";

/** A list with all its members; those that are named come first. */
const plainTable = (list: PlainList, ...first: readonly string[]): Table => ({
  columns: [...new Set([...first, ...Object.keys(properties[list].items.properties)])],
  rows: (report) => report[list],
});

const TABLES = {
  utilisation: {
    columns: [
      ...Object.keys(properties.pools.items.properties).filter(
        (name) => name !== "heat_map" && name !== "limits",
      ),
      "limits",
    ],
    rows: ({ pools }) =>
      pools.map(({ heat_map: _heatMap, limits, ...figures }) => ({
        ...figures,
        limits: limits.map(({ from, limit }) => `${limit} from ${from}`).join(", "),
      })),
  },
  days: {
    columns: Object.keys(properties.days.items.properties).flatMap((name) =>
      name === "waits"
        ? ["wait_median_seconds", "wait_p95_seconds", "wait_longest_seconds"]
        : [name],
    ),
    rows: ({ days }) =>
      days.map(({ waits, ...day }) => ({
        ...day,
        wait_median_seconds: waits?.median_seconds ?? null,
        wait_p95_seconds: waits?.p95_seconds ?? null,
        wait_longest_seconds: waits?.longest_seconds ?? null,
      })),
  },
  episodes: plainTable("episodes", "first_at", "last_at", "person", "user", "peer"),
  people: plainTable("people", "person"),
  idle: plainTable("idle"),
  borrows: plainTable("borrows"),
  consumption: plainTable("consumption"),
  ending: plainTable("ending"),
  heatmap: {
    columns: ["product", "feature", "weekday", "hour", "mean", "peak"],
    rows: ({ pools }) =>
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
  },
  sessions: plainTable("sessions"),
} as const satisfies Readonly<Record<string, Table>>;

export type ReportTable = keyof typeof TABLES;

export const REPORT_TABLES = Object.keys(TABLES) as readonly ReportTable[];

/** The records of one table, the header first. */
export function reportCsv(report: ReportReply, name: ReportTable): string[] {
  const table: Table = TABLES[name];
  return csvRecords(table.columns, table.rows(report));
}
