import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describe } from "../describe.ts";
import { refuse, unwrap } from "../faults.ts";
import { fields, identifier } from "../fields.ts";
import { readQuery } from "../query.ts";
import { Registration, registration } from "./admin.ts";
import type { RouteDeps } from "./deps.ts";

/** So many are written out in a few milliseconds: nobody's heartbeat waits longer than that. */
const MOST = 1_000;

const Query = Type.Object({
  product: fields.product,
  after: Type.Optional(Type.String({ description: "The value of `next`; absent: the beginning." })),
  limit: Type.Optional(
    Type.String({ description: `Maximum number of entries, up to ${MOST}; default ${MOST}.` }),
  ),
});

const SliceReply = Type.Object(
  {
    registrations: Type.Array(Registration),
    next: Type.Union([Type.Integer(), Type.Null()], {
      description: "Value of `after` for the next slice; null: this is the last slice.",
    }),
  },
  { title: "RegistrationSlice" },
);

export type SliceReply = Static<typeof SliceReply>;

/** The same list for whoever reads it again and again while applications are being served. */
export const registrationsSlice = ({ operations }: RouteDeps) =>
  new Elysia({ name: "registrations-slice" }).get(
    "/api/admin/v1/registrations/slice",
    async ({ request, set }): Promise<SliceReply> => {
      const query = readQuery(Query, request, set.headers);
      const product = identifier("product", query.product);
      const after = wholeNumber("after", query.after, 0, Number.MAX_SAFE_INTEGER) ?? 0;
      const limit = wholeNumber("limit", query.limit, 1, MOST) ?? MOST;
      const found = unwrap(await operations.registrations(product, { after, limit }));
      return {
        registrations: found.map(registration),
        next: found.length < limit ? null : (found.at(-1)?.slot ?? null),
      };
    },
    describe({
      id: "sliceRegistrations",
      summary: "List slots in use, in slices",
      description:
        "Each slice shows the state at the time of its request; slots taken in between appear in a " +
        "later slice.",
      query: Query,
      reply: SliceReply,
      refuses: ["unknown_product", notBetween("limit", 1, MOST)],
    }),
  );

/** Null when absent or empty. */
function wholeNumber(
  field: string,
  value: string | undefined,
  least: number,
  most: number,
): number | null {
  if (value === undefined || value === "") return null;
  const number = /^(?:0|[1-9]\d{0,15})$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  return refuse(notBetween(field, least, most));
}

function notBetween(field: string, least: number, most: number) {
  return { code: "invalid_parameter" as const, field, expected: `${least} to ${most}` };
}
