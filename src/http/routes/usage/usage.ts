import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { MINUTE, SECOND, type Instant } from "../../../domain/time.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import {
  chooseSteps,
  findRangeSteps,
  isUsageRange,
  makeSeries,
  USAGE_RANGES,
  type SeriesSpan,
  type UsageRange,
  type UsageSeries,
} from "../../../usage/usage-series.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { jsonBody } from "../../request/body.ts";
import { field, fields, readIdentifier, readTimestamp } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import type { RouteDeps } from "../deps.ts";

const Query = Type.Object({
  range: fields.range,
  from: field("RFC 3339; the beginning of another period. With it, range is left out.", {
    instant: true,
  }),
  to: field("RFC 3339; its end. Absent: now.", { instant: true }),
  product: field("Only this product. Absent: all products."),
});

const time = Type.String({ format: "date-time" });
const steps = (description: string) =>
  Type.Array(Type.Union([Type.Number(), Type.Null()]), { description });

const RANGE_NAMES = Object.keys(USAGE_RANGES) as UsageRange[];

const UsageReply = Type.Object(
  {
    range: Type.Unsafe<UsageRange | null>({
      anyOf: [{ type: "string", enum: RANGE_NAMES }, { type: "null" }],
    }),
    from: time,
    to: Type.Unsafe<string>({ ...time, description: "End of the last step." }),
    step_minutes: Type.Integer(),
    pools: Type.Array(
      Type.Object({
        product: Type.String(),
        feature: Type.Unsafe<string | null>({
          anyOf: [{ type: "string" }, { type: "null" }],
          description: "A floating feature; null: the slots of the product itself.",
        }),
        limit: steps("The licensed slots at that time, the highest of each step; null: none."),
        peak: steps("The most slots in use at once in each step; null: unknown."),
        mean: steps("The mean of slots in use in each step; null: unknown."),
        full_seconds: steps("How long all slots were in use; null: unknown."),
        borrowed: steps("The most borrowed slots at once; null: unknown."),
        waiting: steps("The most users in the queue at once; null: unknown."),
        episodes: steps("Denied episodes that began; null: unknown."),
        consumed: steps("What was counted; null: unknown."),
      }),
    ),
  },
  { title: "Usage" },
);

export type UsageReply = Static<typeof UsageReply>;

const RebuildReply = Type.Object(
  {
    audit_seq: Type.Integer({ description: "Last line of the audit log that is counted." }),
    from: Type.Unsafe<string | null>({ anyOf: [time, { type: "null" }] }),
    until: time,
    files: Type.Integer(),
    bytes: Type.Integer(),
  },
  { title: "UsageRebuild" },
);

export const usage = ({ usage: reader, keepOpen }: RouteDeps) =>
  new Elysia({ name: "usage", prefix: "/api/admin/v1/usage" })
    .get(
      "",
      async ({ request, set }): Promise<UsageReply> => {
        const query = readQuery(Query, request, set.headers);
        const wanted = readIdentifier("product", query.product);
        const from = readTimestamp("from", query.from);
        const to = readTimestamp("to", query.to);
        const range = from === null && to === null ? readRange(query.range) : null;
        const span = readSpan(range, from, to, unwrap(await reader.readTime()));
        const { table } = unwrap(await reader.read(span));
        const isWanted = ({ product }: { readonly product: string }): boolean =>
          wanted === null || product === wanted;
        return usageReply(range, makeSeries(table, span, isWanted));
      },
      describeRoute({
        plane: "admin",
        id: "getUsage",
        summary: "Get usage over time",
        description:
          "Slots in use against the limit of their time, by product and floating feature, in at " +
          "most 400 steps: a day in steps of 5 minutes, a week of 30 minutes, 30 days of 2 hours, " +
          "a quarter of 6 hours, a year of a day, and 18 months of 2 days. For a period from " +
          "`from` to `to` the step is chosen; after 90 days the finest step is an hour.",
        query: Query,
        reply: UsageReply,
        refusals: [INVALID_RANGE, EMPTY_PERIOD, "invalid_timestamp", "audit_log_damaged"],
      }),
    )
    .post(
      "/rebuild",
      async ({ request }): Promise<Static<typeof RebuildReply>> => {
        const release = keepOpen(request);
        try {
          const { auditSeq, from, until, files, bytes } = unwrap(await reader.rebuild());
          const times = { from: rfc3339OrNull(from), until: rfc3339(until) };
          return { audit_seq: auditSeq, ...times, files, bytes };
        } finally {
          release();
        }
      },
      {
        ...jsonBody(Type.Object({}), { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          id: "rebuildUsage",
          summary: "Compute the usage files again",
          description:
            "From the oldest line of the audit log, in a process of its own. Usage that is older " +
            "than that line stays as it is.",
          reply: RebuildReply,
          refusals: ["maintenance_failed"],
        }),
      },
    );

function usageReply(range: UsageRange | null, series: UsageSeries): UsageReply {
  const { from, to, step, observed, pools } = series;
  const isMeanKnown = (value: number | null, index: number): boolean =>
    value !== null && (observed[index] ?? 0) > 0;
  return {
    range,
    from: rfc3339(from),
    to: rfc3339(to),
    step_minutes: step / MINUTE,
    pools: pools.map(({ product, feature, limit, figures }) => ({
      product,
      feature,
      limit: [...limit],
      peak: [...figures.peak],
      mean: figures.slotTime.map((value, index) =>
        isMeanKnown(value, index) ? roundMean((value ?? 0) / (observed[index] ?? 1)) : null,
      ),
      full_seconds: figures.fullTime.map((value) => value && Math.round(value / SECOND)),
      borrowed: [...figures.borrowed],
      waiting: [...figures.waiting],
      episodes: [...figures.episodes],
      consumed: [...figures.consumed],
    })),
  };
}

const roundMean = (mean: number): number => Math.round(mean * 1_000) / 1_000;

function readSpan(
  range: UsageRange | null,
  from: Instant | null,
  to: Instant | null,
  now: Instant,
): SeriesSpan {
  if (range !== null) return findRangeSteps(range, now);
  const end = to ?? now;
  if (from === null || from >= end) return refuse(EMPTY_PERIOD);
  return chooseSteps({ from, to: end }, now);
}

function readRange(value: string | undefined): UsageRange {
  if (value === undefined || value === "") return "day";
  if (isUsageRange(value)) return value;
  return refuse(INVALID_RANGE);
}

const INVALID_RANGE = {
  code: "invalid_parameter",
  field: "range",
  expected: "day, week, month, quarter, year or 18months",
} as const;

const EMPTY_PERIOD = {
  code: "invalid_parameter",
  field: "from",
  expected: "a time before to",
} as const;
