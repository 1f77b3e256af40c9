import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import { fields, readIdentifier, readLicenseId } from "../../request/fields.ts";
import { licenseObject, LicenseObject } from "./license-object.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

const Query = Type.Object(
  { product: fields.product, license_id: fields.license_id },
  { examples: [{ product: "DEMO" }] },
);

const text = (description: string) => Type.String({ description });

/** The proof of a license that was installed with a confirmation code. */
const LicenseBundle = Type.Object(
  {
    version: Type.Integer({ description: "Version of the signed content: 2." }),
    kind: Type.Integer({
      description: "Kind of the activation code: 1 strong hardware binding, 2 weak binding.",
    }),
    policy: text("The policy document as signed by the vendor."),
    confirmation_code: text("The code that confirms the policy for this appliance."),
    license_key: text("The confirmed license key."),
    appliance_id: text("Id of the confirmed appliance: a digest of appliance_jwk."),
    hardware_prefix: text("The part of the hardware id in the activation code."),
    nonce: text("Nonce of the activation code."),
    initialization_code: text("Initialization code as entered; empty: none."),
    appliance_jwk: Type.Object(
      { kty: Type.String(), crv: Type.String(), x: Type.String() },
      { description: "Public key of the appliance, which signs leases." },
    ),
  },
  {
    title: "LicenseBundle",
    description:
      "With Accept: application/jwt, for an air-gapped license: the proof of the license, for an " +
      "application that verifies leases offline.",
  },
);

const Reply = Type.Union([LicenseObject, LicenseBundle]);

/** Whether the caller wants the vendor's document, to verify leases offline. */
const wantsDocument = (request: Request): boolean =>
  (request.headers.get("accept") ?? "").toLowerCase().startsWith("application/jwt");

export const license = ({ licensing }: RouteDeps) =>
  new Elysia({ name: "license" }).get(
    "/api/v4/license",
    async ({ request, set }) => {
      const query = readQuery(Query, request, set.headers);
      const selector = {
        product: readIdentifier("product", query.product),
        licenseId: readLicenseId(query.license_id),
      };
      const view = unwrap(await licensing.findLicense(selector));
      if (!wantsDocument(request)) return licenseObject(view, null);
      const type = view.grant.policyId === null ? "application/jwt" : "application/json";
      return new Response(view.grant.document, { headers: { "content-type": type } });
    },
    describeRoute({
      plane: "client",
      id: "getLicense",
      summary: "Get a license",
      description:
        "Takes no slot. Without license_id: the license that a new user would get a slot of.",
      query: Query,
      reply: Reply,
      otherReplies: {
        "application/jwt": text(
          "With Accept: application/jwt: the license as signed by the vendor, for an application " +
            "that verifies leases offline.",
        ),
      },
      refusals: ["missing_parameters", "unknown_product", "license_not_found"],
    }),
  );
