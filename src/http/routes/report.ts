import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { DAY, later, type Instant } from "../../domain/time.ts";
import { isTimeZone } from "../../usage/report/local-hours.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { refuse, unwrap } from "../faults.ts";
import { ReportReply } from "../reply/report.ts";
import { reportReply } from "../reply/report-reply.ts";
import { field, readBoolean, readIdentifier, readTimestamp } from "../request/fields.ts";
import { readQuery } from "../request/query.ts";
import type { RouteDeps } from "./deps.ts";

const periodFields = {
  product: field("Only this product. Absent: all products."),
  feature: field("Only this floating feature. Absent: the product's own slots and all features."),
  from: field("RFC 3339; the beginning of the period. Absent: 30 days before its end.", {
    instant: true,
  }),
  to: field("RFC 3339; the end of the period, exclusive. Absent: now.", { instant: true }),
};

const Query = Type.Object({
  ...periodFields,
  time_zone: field("Of the days and heat maps: an IANA name or an offset. Absent: UTC."),
  idle_days: field("A holder without use for so many days is idle, 1 to 366; default 7."),
  anonymous: field("true: names, hosts and addresses are replaced with random keys.", {
    tolerates: "boolean",
  }),
  sessions: field("true: with the list of sessions.", { tolerates: "boolean" }),
  rows: field("Maximum number of rows of each list, 1 to 100000; default 1000."),
});

export const report = ({ reports }: RouteDeps) =>
  new Elysia({ name: "report", prefix: "/api/admin/v1/report" }).get(
    "",
    async ({ request, set }): Promise<ReportReply> => {
      const query = readQuery(Query, request, set.headers);
      const isAnonymous = readBoolean("anonymous", query.anonymous) ?? false;
      const wanted = {
        ...readPeriod(query, unwrap(await reports.readTime())),
        timeZone: readTimeZone(query.time_zone),
        idleDays: readCount(query.idle_days, 7, IDLE_DAYS),
        rows: readCount(query.rows, 1_000, ROWS),
        hasSessions: readBoolean("sessions", query.sessions) ?? false,
        isAnonymous,
      };
      return reportReply(unwrap(await reports.buildReport(wanted)), isAnonymous);
    },
    describeRoute({
      plane: "admin",
      id: "getReport",
      summary: "Get a report of use and denied demand",
      description:
        "Slots in use against the limit, denied episodes with waiting times, people, idle " +
        "holders, borrows, consumption and licenses that end, over a period of at most 600 days. " +
        "A percentile of slots in use is the level that use stayed at or under for this share of " +
        "the observed time; a percentile of waiting times is the smallest one that this share of " +
        "the granted episodes did not exceed.",
      query: Query,
      reply: ReportReply,
      refusals: [
        EMPTY_PERIOD,
        "invalid_timestamp",
        "unknown_product",
        "invalid_license_feature_code",
        "audit_log_damaged",
      ],
    }),
  );

interface PeriodQuery {
  readonly product?: string | undefined;
  readonly feature?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const DEFAULT_PERIOD = 30 * DAY;
const MAX_PERIOD_DAYS = 600;

function readPeriod(query: PeriodQuery, now: Instant) {
  const to = readTimestamp("to", query.to) ?? now;
  const from = readTimestamp("from", query.from) ?? later(to, -DEFAULT_PERIOD);
  if (from >= to) refuse(EMPTY_PERIOD);
  if (to - from > MAX_PERIOD_DAYS * DAY) {
    const expected = `at most ${MAX_PERIOD_DAYS} days after from`;
    refuse({ code: "invalid_parameter", field: "to", expected });
  }
  return {
    product: readIdentifier("product", query.product),
    feature: readIdentifier("feature", query.feature),
    from,
    to,
  };
}

const EMPTY_PERIOD = {
  code: "invalid_parameter",
  field: "to",
  expected: "a time after from",
} as const;

function readTimeZone(value: string | undefined): string {
  if (value === undefined || value === "") return "UTC";
  if (isTimeZone(value)) return value;
  const expected = "a time zone such as Europe/Berlin, or an offset such as +01:00";
  return refuse({ code: "invalid_parameter", field: "time_zone", expected });
}

interface CountRange {
  readonly field: string;
  readonly max: number;
}

const IDLE_DAYS: CountRange = { field: "idle_days", max: 366 };
const ROWS: CountRange = { field: "rows", max: 100_000 };

function readCount(value: string | undefined, absent: number, { field, max }: CountRange): number {
  if (value === undefined || value === "") return absent;
  const number = /^[1-9]\d{0,5}$/.test(value) ? Number(value) : Infinity;
  const expected = `a whole number from 1 to ${max}`;
  return number <= max ? number : refuse({ code: "invalid_parameter", field, expected });
}
