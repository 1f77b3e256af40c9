import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { jsonBody } from "../request/body.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { unwrap } from "../faults.ts";
import { fields, readIdentifier } from "../request/fields.ts";
import type { RouteDeps } from "./deps.ts";

const Body = Type.Object(
  { product: fields.product, license_key: fields.license_key },
  {
    title: "GenerateLicenseRequestBody",
    examples: [{ product: "DEMO", license_key: "ABCD-1234" }],
  },
);

const text = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const Reply = Type.Object(
  {
    request_id: Type.String({
      description: "Request id; the license that answers the request contains it.",
    }),
    created_at: Type.String({ format: "date-time" }),
    hardware_id: Type.String({
      description: "Hardware id of the machine that the license will be valid on.",
    }),
    product: text("Requested product; null: the vendor decides."),
    license_key: text("License key as sent in the request."),
    filename: Type.String({ description: "Suggested file name for the payload." }),
    payload: Type.String({ description: "The license request to send to the vendor." }),
    cloud_payload: text(
      "The request for a licensing cloud; null unless both keys are set and a license key is given.",
    ),
    cloud_filename: text("Suggested file name for cloud_payload."),
    warnings: Type.Array(Type.String(), {
      description: "Reasons why the vendor's license may not be installable here.",
    }),
  },
  { title: "LicenseRequest" },
);

export const licenseGenerate = ({ licensing, peerOf }: RouteDeps) =>
  new Elysia({ name: "license-generate" }).post(
    "/api/v4/license/generate",
    async ({ body, request }): Promise<typeof Reply.static | string> => {
      const product = readIdentifier("product", body.product);
      const key = readIdentifier("license_key", body.license_key);
      const created = unwrap(await licensing.request(product, key, peerOf(request)));
      if (wantsText(request)) return created.document;
      return {
        request_id: created.request,
        created_at: rfc3339(created.at),
        hardware_id: created.hardwareId,
        product: created.product,
        license_key: created.licenseKey,
        filename: `berth-request-${created.request.slice(0, 8)}.jwt`,
        payload: created.document,
        cloud_payload: created.cloud,
        cloud_filename:
          created.cloud === null ? null : `request-${created.request.slice(0, 8)}.req`,
        warnings: [...created.warnings],
      };
    },
    {
      ...jsonBody(Body, { emptyAllowed: true }),
      ...describeRoute({
        plane: "admin",
        id: "generateLicenseRequest",
        summary: "Generate an offline license request payload",
        description:
          "Takes a product, a license key, both or neither; with neither, a vendor can enrol the " +
          "site. With Accept: text/plain, the reply is the payload only.",
        reply: Reply,
        otherReplies: {
          "text/plain": Type.String({ description: "With Accept: text/plain: the payload only." }),
        },
      }),
    },
  );

const wantsText = (request: Request): boolean =>
  (request.headers.get("accept") ?? "").toLowerCase().startsWith("text/plain");
