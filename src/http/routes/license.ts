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

const text = (description: string) => Type.String({ description });

/** What proves a license that came by code, as it is kept. */
const LicenseBundle = Type.Object(
  {
    version: Type.Optional(
      Type.Integer({ description: "Of what the code signs; absent: 1, which left the kind out." }),
    ),
    kind: Type.Optional(
      Type.Integer({
        description: "Of the activation code: 1 for a strong binding, 2 for a weak.",
      }),
    ),
    policy: text("The policy, as the vendor signed it."),
    confirmation_code: text("The code that confirms it for this appliance."),
    license_key: text("The license key it was confirmed for."),
    appliance_id: text("Whom it was confirmed for: a digest of the key below."),
    hardware_prefix: text("Of the hardware id, the part that the activation code held."),
    nonce: text("Of the activation code."),
    initialization_code: text("As it was typed; empty: none."),
    appliance_jwk: Type.Object(
      { kty: Type.String(), crv: Type.String(), x: Type.String() },
      { description: "The key that signs leases." },
    ),
  },
  {
    title: "LicenseBundle",
    description:
      "With Accept: application/jwt, for a license that came by code: what proves it, for an " +
      "application that checks leases by itself.",
  },
);

const Reply = Type.Union([LicenseObject, LicenseBundle]);

/** The vendor's own document, for an application that checks the chain. */
const wantsDocument = (request: Request): boolean =>
  (request.headers.get("accept") ?? "").toLowerCase().startsWith("application/jwt");

export const license = ({ operations }: RouteDeps) =>
  new Elysia({ name: "license" }).get(
    "/api/v4/license",
    async ({ request, set }) => {
      const query = readQuery(Query, request, set.headers);
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
      id: "getLicense",
      summary: "Show a license",
      description: "Takes no slot. Without an id: the one a new caller would be served by.",
      query: Query,
      reply: Reply,
      otherReplies: {
        "application/jwt": text(
          "With Accept: application/jwt, the license as the vendor signed it, for an application " +
            "that checks leases by itself.",
        ),
      },
      refuses: ["missing_parameters", "unknown_product", "license_not_found"],
    }),
  );
