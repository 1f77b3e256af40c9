import type { TObject } from "@sinclair/typebox";
import type { RouteDetail, DocumentedRefusal } from "./describe-route.ts";
import { httpStatusOf, type FaultCode } from "./faults.ts";
import { isStateChangingRequest, type Method, type Plane } from "./planes.ts";
import { COMMON_REFUSALS, sampleRefusal, type RefusalContext } from "./sample-refusals.ts";

/** One method of a path that the document shows. */
export interface DocumentedRoute {
  readonly path: string;
  readonly method: Method;
  readonly plane: Plane;
  readonly detail: RouteDetail;
  readonly body: TObject | undefined;
}

const codeOf = (one: DocumentedRefusal): FaultCode => (typeof one === "string" ? one : one.code);

/** The operation's own refusals in full; those that it shares with others by their name. */
export function refusalResponsesOf(route: DocumentedRoute): object {
  const { plane, detail } = route;
  const { requiredFields = [], refusals = [] } = detail;
  const own = Map.groupBy(refusals, (one) => httpStatusOf(codeOf(one)));
  const shared = SHARED_RESPONSES.filter(
    ({ status, applies }) => applies(route) && !own.has(status),
  );
  return Object.fromEntries([
    ...[...own].map(([status, same]) => [
      status,
      refusalResponse(same.map(codeOf).join(", "), same, { plane, requiredFields }),
    ]),
    ...shared.map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
  ]) as object;
}

interface SharedResponse {
  readonly status: number;
  readonly name: string;
  readonly applies: (route: DocumentedRoute) => boolean;
}

const isRestricted = ({ plane }: DocumentedRoute): boolean => plane !== "open";

/** An appliance that was moved away changes nothing any more; it can still be read. */
const isStateChangingRoute = ({ method, path }: DocumentedRoute): boolean =>
  isStateChangingRequest(method, path) || path === "/api/v4/check_license_feature";

/** What an operation can be refused with for the way it is called, whatever it does. */
const SHARED_RESPONSES: readonly SharedResponse[] = [
  {
    status: 400,
    name: "InvalidRequest",
    applies: ({ body, detail }) => Boolean(body ?? detail.query),
  },
  { status: 401, name: "Unauthorized", applies: isRestricted },
  { status: 403, name: "Forbidden", applies: () => true },
  { status: 409, name: "MovedAway", applies: isStateChangingRoute },
  { status: 413, name: "TooLarge", applies: ({ body }) => body !== undefined },
  { status: 415, name: "UnsupportedMediaType", applies: ({ body }) => body !== undefined },
  { status: 421, name: "WrongHost", applies: () => true },
  { status: 429, name: "TooManyRequests", applies: () => true },
  { status: 500, name: "InternalError", applies: () => true },
  { status: 503, name: "StorageFailed", applies: isRestricted },
];

/** The refusals that operations refer to by name. */
export const sharedRefusalResponses = (): object => ({
  ...Object.fromEntries(
    SHARED_RESPONSES.map(({ status, name }) => {
      const same = COMMON_REFUSALS.filter((one) => httpStatusOf(codeOf(one)) === status);
      return [name, refusalResponse(same.map(codeOf).join(", "), same, ANY_ROUTE)];
    }),
  ),
  AnyRefusal: refusalResponse("Any operation can return these", COMMON_REFUSALS, ANY_ROUTE),
});

const refusalResponse = (
  description: string,
  list: readonly DocumentedRefusal[],
  asked: RefusalContext,
): object => ({
  description,
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/Refusal" },
      examples: Object.fromEntries(
        list.map((one) => [codeOf(one), { value: sampleRefusal(one, asked) }]),
      ),
    },
  },
});

/** Of what any request can get, most that asks for a credential administers. */
const ANY_ROUTE: RefusalContext = { plane: "admin", requiredFields: ["user"] };
