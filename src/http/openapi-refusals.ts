import type { TObject } from "@sinclair/typebox";
import type { Detail, Refusing } from "./describe.ts";
import { statusOf, type Code } from "./faults.ts";
import { isAct, type Method, type Plane } from "./planes.ts";
import { COMMON, sampleRefusal, type Asked } from "./sample-refusals.ts";

/** One method of a path that the document shows. */
export interface Route {
  readonly path: string;
  readonly method: Method;
  readonly plane: Plane;
  readonly detail: Detail;
  readonly body: TObject | undefined;
}

const codeOf = (one: Refusing): Code => (typeof one === "string" ? one : one.code);

/** The operation's own refusals in full; those that it shares with others by their name. */
export function refusalsOf(route: Route): object {
  const { plane, detail } = route;
  const { needs = [], refuses = [] } = detail;
  const own = Map.groupBy(refuses, (one) => statusOf(codeOf(one)));
  const shared = SHARED.filter(({ status, applies }) => applies(route) && !own.has(status));
  return Object.fromEntries([
    ...[...own].map(([status, same]) => [
      status,
      refusal(same.map(codeOf).join(", "), same, { plane, needs }),
    ]),
    ...shared.map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
  ]) as object;
}

interface SharedResponse {
  readonly status: number;
  readonly name: string;
  readonly applies: (route: Route) => boolean;
}

const isCalled = ({ plane }: Route): boolean => plane !== "open";

/** An appliance that was moved away changes nothing any more; it can still be read. */
const isChange = ({ method, path }: Route): boolean =>
  isAct(method, path) || path === "/api/v4/check_license_feature";

/** What an operation can be refused with for the way it is called, whatever it does. */
const SHARED: readonly SharedResponse[] = [
  {
    status: 400,
    name: "InvalidRequest",
    applies: ({ body, detail }) => Boolean(body ?? detail.query),
  },
  { status: 401, name: "Unauthorized", applies: isCalled },
  { status: 403, name: "Forbidden", applies: () => true },
  { status: 409, name: "MovedAway", applies: isChange },
  { status: 413, name: "TooLarge", applies: ({ body }) => body !== undefined },
  { status: 415, name: "UnsupportedMediaType", applies: ({ body }) => body !== undefined },
  { status: 421, name: "WrongHost", applies: () => true },
  { status: 429, name: "TooManyRequests", applies: () => true },
  { status: 500, name: "InternalError", applies: () => true },
  { status: 503, name: "StorageFailed", applies: isCalled },
];

/** The refusals that operations refer to by name. */
export const sharedRefusals = (): object => ({
  ...Object.fromEntries(
    SHARED.map(({ status, name }) => {
      const same = COMMON.filter((one) => statusOf(codeOf(one)) === status);
      return [name, refusal(same.map(codeOf).join(", "), same, ANY)];
    }),
  ),
  AnyRefusal: refusal("Any operation can return these", COMMON, ANY),
});

const refusal = (description: string, list: readonly Refusing[], asked: Asked): object => ({
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
const ANY: Asked = { plane: "admin", needs: ["user"] };
