import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import { RegistrationReply, registrationReply } from "./registrations.ts";
import type { RouteDeps } from "../deps.ts";

/** So many are serialized in a few milliseconds; heartbeats wait no longer than that. */
const MAX_LIMIT = 1_000;

const Query = Type.Object({
  product: fields.product,
  after: Type.Optional(Type.String({ description: "The value of `next`; absent: the beginning." })),
  limit: Type.Optional(
    Type.String({
      description: `Maximum number of entries, up to ${MAX_LIMIT}; default ${MAX_LIMIT}.`,
    }),
  ),
});

const RegistrationSliceReply = Type.Object(
  {
    registrations: Type.Array(RegistrationReply),
    next: Type.Union([Type.Integer(), Type.Null()], {
      description: "Value of `after` for the next slice; null: this is the last slice.",
    }),
  },
  { title: "RegistrationSlice" },
);

export type RegistrationSliceReply = Static<typeof RegistrationSliceReply>;

/** The same list in slices, for tools that read it often while applications are served. */
export const registrationsSlice = ({ slots }: RouteDeps) =>
  new Elysia({ name: "registrations-slice" }).get(
    "/api/admin/v1/registrations/slice",
    async ({ request, set }): Promise<RegistrationSliceReply> => {
      const query = readQuery(Query, request, set.headers);
      const product = readIdentifier("product", query.product);
      const after = readWholeNumber("after", query.after, 0, Number.MAX_SAFE_INTEGER) ?? 0;
      const limit = readWholeNumber("limit", query.limit, 1, MAX_LIMIT) ?? MAX_LIMIT;
      const registrations = unwrap(await slots.listRegistrations(product, { after, limit }));
      return {
        registrations: registrations.map(registrationReply),
        next: registrations.length < limit ? null : (registrations.at(-1)?.slot ?? null),
      };
    },
    describeRoute({
      plane: "admin",
      id: "sliceRegistrations",
      summary: "List slots in use, in slices",
      description:
        "Each slice shows the state at the time of its request; slots taken in between appear in a " +
        "later slice.",
      query: Query,
      reply: RegistrationSliceReply,
      refusals: ["unknown_product", outOfRange("limit", 1, MAX_LIMIT)],
    }),
  );

/** Null when absent or empty. */
function readWholeNumber(
  field: string,
  value: string | undefined,
  minimum: number,
  maximum: number,
): number | null {
  if (value === undefined || value === "") return null;
  const number = /^(?:0|[1-9]\d{0,15})$/.test(value) ? Number(value) : Number.NaN;
  if (number >= minimum && number <= maximum) return number;
  return refuse(outOfRange(field, minimum, maximum));
}

function outOfRange(field: string, minimum: number, maximum: number) {
  return { code: "invalid_parameter" as const, field, expected: `${minimum} to ${maximum}` };
}
