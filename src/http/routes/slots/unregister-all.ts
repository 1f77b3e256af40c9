import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";
import { unwrapRelease } from "./unwrap-release.ts";

const Body = Type.Object(
  { product: fields.product },
  { title: "UnregisterAllBody", examples: [{ product: "DEMO" }] },
);

const operation = {
  plane: "admin" as const,
  summary: "Release all slots",
  description:
    "Of one product, or of all products. Borrowed slots stay if the license does not allow an " +
    "early return.",
  refusals: ["unknown_product"] as const,
  destructiveEffect: "All users lose their slots immediately, and other users can take them.",
};

/** The same operation by GET and POST; existing clients use either. */
export const unregisterAll = ({ slots, peerOf }: RouteDeps) => {
  const release = async (product: string | undefined, request: Request): Promise<Response> => {
    const input = { product: readIdentifier("product", product), peer: peerOf(request) };
    unwrapRelease(await slots.unregisterAll(input));
    return new Response(null);
  };
  return new Elysia({ name: "unregister-all" })
    .get(
      "/api/v4/unregister/all",
      ({ request, set }) => release(readQuery(Body, request, set.headers).product, request),
      describeRoute({ ...operation, id: "unregisterAllByQuery", query: Body, changesByGet: true }),
    )
    .post("/api/v4/unregister/all", ({ body, request }) => release(body.product, request), {
      ...jsonBody(Body, { emptyAllowed: true }),
      ...describeRoute({ ...operation, id: "unregisterAll" }),
    });
};
