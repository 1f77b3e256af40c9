import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describe } from "../describe.ts";
import { unwrap } from "../faults.ts";
import { fields, identifier, licenseId } from "../fields.ts";
import { licenseObject, LicenseObject } from "../license-object.ts";
import { readQuery } from "../query.ts";
import type { RouteDeps } from "./deps.ts";

const Query = Type.Object(
  { product: fields.product, license_id: fields.license_id },
  { examples: [{ product: "DEMO" }] },
);

/** The vendor's own document, for an application that checks the chain. */
const wantsDocument = (request: Request): boolean =>
  (request.headers.get("accept") ?? "").toLowerCase().startsWith("application/jwt");

export const license = ({ operations }: RouteDeps) =>
  new Elysia({ name: "license" }).get(
    "/api/v4/license",
    async ({ request }) => {
      const query = readQuery(Query, request);
      const aim = {
        product: identifier("product", query.product),
        licenseId: licenseId(query.license_id),
      };
      const view = unwrap(await operations.license(aim));
      if (!wantsDocument(request)) return licenseObject(view, null);
      const type = view.grant.policyId === null ? "application/jwt" : "application/json";
      return new Response(view.grant.document, { headers: { "content-type": type } });
    },
    describe({
      summary: "Show a license",
      description: "Takes no slot. Without an id: the one a new caller would be served by.",
      query: Query,
      reply: LicenseObject,
      refuses: ["missing_parameters", "unknown_product", "license_not_found"],
    }),
  );
