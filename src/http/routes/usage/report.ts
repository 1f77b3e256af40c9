import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { DAY, later, type Instant } from "../../../domain/time.ts";
import { isTimeZone } from "../../../usage/report/local-hours.ts";
import { MAX_PERIOD_DAYS } from "../../../usage/report/report.ts";
import { TOO_MUCH_WORK } from "../../../operations/usage/reports.ts";
import type { HistoryRequest } from "../../../operations/usage/history-process.ts";
import { acceptsGzip } from "../../page/served-file.ts";
import { JSON_TYPE } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { ReportReply } from "./report-schema.ts";
import { reportReply } from "./report-reply.ts";
import { WhatIfReply, whatIfReply } from "./what-if.ts";
import { field, readBoolean, readIdentifier, readTimestamp } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

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

const WhatIfQuery = Type.Object({
  ...periodFields,
  product: field("The product."),
  slots: field("Numbers of slots to try, such as 4..20; at most 100 numbers."),
  target: field("Share of needs to meet at once, in percent, 1 to 100; default 99."),
});

const NO_PROGRESS = { share: null, waiting: 0 };

const ReportProgressReply = Type.Object(
  {
    percent: Type.Union([Type.Integer(), Type.Null()], {
      description: "How much of the audit log was read; null: no report is being computed.",
    }),
    waiting: Type.Integer({ description: "How many others wait for it to end." }),
  },
  { title: "ReportProgress" },
);

export type ReportProgressReply = Static<typeof ReportProgressReply>;

export const report = ({ reports, historyProcess, keepOpen }: RouteDeps) => {
  /** In a server with a long history, in a process of its own. */
  const replyFrom = async <T>(
    request: Request,
    wanted: HistoryRequest,
    compute: () => Promise<T>,
  ): Promise<T> => {
    if (historyProcess?.isNeeded() !== true) return compute();
    const isCompressed = acceptsGzip(request);
    const release = keepOpen(request);
    try {
      const options = { isCompressed, signal: request.signal };
      const reply = unwrap(await historyProcess.reply(wanted, options));
      const encoding = isCompressed ? { "content-encoding": "gzip" } : {};
      const headers = { "content-type": JSON_TYPE, vary: "accept-encoding", ...encoding };
      // The text of such a reply.
      return new Response(reply, { headers }) as T;
    } finally {
      release();
    }
  };
  return new Elysia({ name: "report", prefix: "/api/admin/v1/report" })
    .get(
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
        return replyFrom(request, { type: "report", wanted }, async () =>
          reportReply(unwrap(await reports.buildReport(wanted)), isAnonymous),
        );
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
          "maintenance_failed",
          "too_many_jobs",
        ],
      }),
    )
    .get(
      "/progress",
      (): ReportProgressReply => {
        const { share, waiting } = historyProcess?.progress() ?? NO_PROGRESS;
        return { percent: share === null ? null : Math.floor(share * 100), waiting };
      },
      describeRoute({
        plane: "admin",
        id: "getReportProgress",
        summary: "See how far the report is that is being computed",
        description:
          "Reports, estimates and statements are computed one at a time, in a process of their own.",
        reply: ReportProgressReply,
      }),
    )
    .get(
      "/what-if",
      async ({ request, set }): Promise<WhatIfReply> => {
        const query = readQuery(WhatIfQuery, request, set.headers);
        const { product, feature, from, to } = readPeriod(query, unwrap(await reports.readTime()));
        if (product === null) return refuse({ code: "missing_parameters", fields: ["product"] });
        const slots = readSlots(query.slots);
        const share = readCount(query.target, 99, TARGET) / 100;
        const wanted = { product, feature, window: { from, to }, slots, share };
        return replyFrom(request, { type: "what-if", wanted }, async () =>
          whatIfReply(unwrap(await reports.computeWhatIf(wanted))),
        );
      },
      describeRoute({
        plane: "admin",
        id: "getWhatIf",
        summary: "Estimate how other numbers of slots would have met the demand",
        description:
          "Decides the recorded sessions and denied episodes again, by the rules that decide them " +
          "live. With the recorded limits this reproduces the recorded refusals, which check says. " +
          "For other numbers it is an estimate: users who gave up would have stayed a median " +
          "session, and retried from their first to their last refusal; users who were granted a " +
          "slot at once would retry as long as the median episode.",
        query: WhatIfQuery,
        reply: WhatIfReply,
        refusals: [
          EMPTY_PERIOD,
          INVALID_SLOTS,
          TOO_MUCH_WORK,
          "missing_parameters",
          "invalid_timestamp",
          "unknown_product",
          "invalid_license_feature_code",
          "audit_log_damaged",
          "maintenance_failed",
          "too_many_jobs",
        ],
      }),
    );
};

const INVALID_SLOTS = {
  code: "invalid_parameter",
  field: "slots",
  expected: "a range such as 4..20, of at most 100 numbers up to 1000000",
} as const;

const MAX_SLOTS = 1_000_000;
const MAX_NUMBERS = 100;

function readSlots(value: string | undefined): number[] {
  const [, first = "", last = first] = /^(\d{1,7})(?:\.\.(\d{1,7}))?$/.exec(value ?? "") ?? [];
  const [from, to] = [Number(first), Number(last)];
  const isValid = first !== "" && from <= to && to <= MAX_SLOTS && to - from < MAX_NUMBERS;
  return isValid
    ? Array.from({ length: to - from + 1 }, (_, index) => from + index)
    : refuse(INVALID_SLOTS);
}

interface PeriodQuery {
  readonly product?: string | undefined;
  readonly feature?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const DEFAULT_PERIOD = 30 * DAY;

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
const TARGET: CountRange = { field: "target", max: 100 };
const ROWS: CountRange = { field: "rows", max: 100_000 };

function readCount(value: string | undefined, absent: number, { field, max }: CountRange): number {
  if (value === undefined || value === "") return absent;
  const number = /^[1-9]\d{0,5}$/.test(value) ? Number(value) : Infinity;
  const expected = `a whole number from 1 to ${max}`;
  return number <= max ? number : refuse({ code: "invalid_parameter", field, expected });
}
