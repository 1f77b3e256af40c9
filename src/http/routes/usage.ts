import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { MINUTE } from "../../domain/time.ts";
import { isUsageRange, USAGE_RANGES, type UsageRange } from "../../usage/usage.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { refuse, unwrap } from "../faults.ts";
import { readBoolean, fields } from "../request/fields.ts";
import { readQuery } from "../request/query.ts";
import type { RouteDeps } from "./deps.ts";

const Query = Type.Object({ range: fields.range, wait: fields.wait });

const time = Type.String({ format: "date-time" });
const steps = (description: string) =>
  Type.Array(Type.Union([Type.Integer(), Type.Null()]), { description });

const UsageReply = Type.Object(
  {
    range: Type.Union([Type.Literal("day"), Type.Literal("week"), Type.Literal("month")]),
    from: time,
    to: Type.Unsafe<string>({ ...time, description: "End of the current step." }),
    step_minutes: Type.Integer(),
    complete: Type.Boolean({
      description: "false: the audit log from before the server start is still being read.",
    }),
    licenses: Type.Array(
      Type.Object({
        license_id: Type.Integer(),
        product: Type.String(),
        floating_users: Type.Integer(),
        in_use: steps("Peak number of slots in use in each step; null: unknown."),
      }),
    ),
    refusals: Type.Array(
      Type.Object({
        product: Type.Union([Type.String(), Type.Null()]),
        feature: Type.Union([Type.String(), Type.Null()], {
          description: "null: the requests were about the product itself.",
        }),
        code: Type.String(),
        counts: steps("Number of refusals in each step; null: unknown."),
      }),
    ),
  },
  { title: "Usage" },
);

export type UsageReply = Static<typeof UsageReply>;

export const usage = ({ usageTracker }: RouteDeps) =>
  new Elysia({ name: "usage" }).get(
    "/api/admin/v1/usage",
    async ({ request, set }): Promise<UsageReply> => {
      const query = readQuery(Query, request, set.headers);
      const range = readRange(query.range);
      const wait = readBoolean("wait", query.wait) ?? false;
      const { from, to, complete, licenses, refusals } = unwrap(
        await usageTracker.view(range, wait),
      );
      return {
        range,
        from: rfc3339(from),
        to: rfc3339(to),
        step_minutes: USAGE_RANGES[range].step / MINUTE,
        complete,
        licenses: licenses.map(({ id, product, slots, inUse }) => ({
          license_id: id,
          product,
          floating_users: slots,
          in_use: [...inUse],
        })),
        refusals: refusals.map(({ product, feature, code, counts }) => ({
          product,
          feature,
          code,
          counts: [...counts],
        })),
      };
    },
    describeRoute({
      plane: "admin",
      id: "getUsage",
      summary: "Get usage and refusals",
      description:
        "A day in steps of 5 minutes, a week in steps of 30 minutes, or 30 days in steps of 2 " +
        "hours, from the audit log and from the running server. Without wait the reply is " +
        "immediate, and contains all of the audit log when complete is true.",
      query: Query,
      reply: UsageReply,
      refusals: [INVALID_RANGE, { code: "invalid_boolean", field: "wait" }],
    }),
  );

function readRange(value: string | undefined): UsageRange {
  if (value === undefined || value === "") return "day";
  if (isUsageRange(value)) return value;
  return refuse(INVALID_RANGE);
}

const INVALID_RANGE = {
  code: "invalid_parameter",
  field: "range",
  expected: "day, week or month",
} as const;
