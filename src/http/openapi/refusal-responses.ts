import type { FaultCode, AnyFault } from "../../faults/fault-types.ts";
import type { DocumentedRefusal } from "./describe-route.ts";
import { httpStatusOf, refusalReply, type RefusalReply } from "../faults.ts";
import { changesState, type DescribedRoute } from "../access/route-table.ts";
import { FAULTS } from "../../faults/catalog.ts";
import type { Plane } from "../access/planes.ts";

const codeOf = (refusal: DocumentedRefusal): FaultCode =>
  typeof refusal === "string" ? refusal : refusal.code;

/** The operation's own refusals in full; common ones as references to shared responses. */
export function refusalResponsesOf(route: DescribedRoute): object {
  const { plane, requiredFields = [], refusals = [] } = route.detail;
  const ownRefusals = Map.groupBy(refusals, (refusal) => httpStatusOf(codeOf(refusal)));
  const shared = SHARED_RESPONSES.filter(
    ({ status, applies }) => applies(route) && !ownRefusals.has(status),
  );
  return Object.fromEntries([
    ...[...ownRefusals].map(([status, group]) => [
      status,
      refusalResponse(group.map(codeOf).join(", "), group, { plane, requiredFields }),
    ]),
    ...shared.map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
  ]) as object;
}

interface SharedResponse {
  readonly status: number;
  readonly name: string;
  readonly applies: (route: DescribedRoute) => boolean;
}

const isRestricted = ({ detail }: DescribedRoute): boolean => detail.plane !== "open";

/** Responses for refusals that depend on how an operation is called, not on what it does. */
const SHARED_RESPONSES: readonly SharedResponse[] = [
  {
    status: 400,
    name: "InvalidRequest",
    applies: ({ body, detail }) => Boolean(body ?? detail.query),
  },
  { status: 401, name: "Unauthorized", applies: isRestricted },
  { status: 403, name: "Forbidden", applies: () => true },
  // An appliance that was moved away refuses changes, but not reads.
  { status: 409, name: "MovedAway", applies: changesState },
  { status: 413, name: "TooLarge", applies: ({ body }) => body !== undefined },
  { status: 415, name: "UnsupportedMediaType", applies: ({ body }) => body !== undefined },
  { status: 421, name: "WrongHost", applies: () => true },
  { status: 429, name: "TooManyRequests", applies: () => true },
  { status: 500, name: "InternalError", applies: () => true },
  { status: 503, name: "StorageFailed", applies: isRestricted },
];

/** The responses that operations refer to by name. */
export const sharedRefusalResponses = (): object => ({
  ...Object.fromEntries(
    SHARED_RESPONSES.map(({ status, name }) => {
      const group = COMMON_REFUSALS.filter((refusal) => httpStatusOf(codeOf(refusal)) === status);
      return [name, refusalResponse(group.map(codeOf).join(", "), group, ANY_ROUTE)];
    }),
  ),
  AnyRefusal: refusalResponse("Any operation can return these", COMMON_REFUSALS, ANY_ROUTE),
});

const refusalResponse = (
  description: string,
  list: readonly DocumentedRefusal[],
  context: RefusalContext,
): object => ({
  description,
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/Refusal" },
      examples: Object.fromEntries(
        list.map((refusal) => [codeOf(refusal), { value: sampleRefusal(refusal, context) }]),
      ),
    },
  },
});

/** For refusals of any route: most routes that need a credential are administration. */
const ANY_ROUTE: RefusalContext = { plane: "admin", requiredFields: ["user"] };

interface RefusalContext {
  readonly plane: Plane;
  readonly requiredFields: readonly string[];
}

/** An example of a refusal: the real message, with the sample facts of its row. */
function sampleRefusal(
  refusal: DocumentedRefusal,
  { plane, requiredFields }: RefusalContext,
): RefusalReply {
  if (typeof refusal !== "string") return refusalReply(refusal);
  const facts = {
    ...FAULTS[refusal].sample,
    ...(requiredFields.length > 0 && { fields: requiredFields }),
    ...(plane !== "login" && { plane }),
  };
  return refusalReply({ ...facts, code: refusal } as AnyFault);
}

/** Refusals that any request can get. */
const COMMON_REFUSALS: readonly DocumentedRefusal[] = [
  "invalid_json",
  "body_not_object",
  "invalid_type",
  "invalid_number",
  "invalid_characters",
  "too_long",
  "too_complex",
  "unauthorized",
  "forbidden",
  "cross_site",
  "tls_required",
  "moved_away",
  "too_large",
  "unsupported_media_type",
  "wrong_host",
  { code: "too_many_requests", busy: "requests" },
  "internal_error",
  "storage_full",
  "storage_failed",
];
