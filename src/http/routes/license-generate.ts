import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { jsonBody } from "../body.ts";
import { describe } from "../describe.ts";
import { unwrap } from "../faults.ts";
import { fields, identifier } from "../fields.ts";
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
    request_id: Type.String({ description: "The license that answers it names it." }),
    created_at: Type.String({ format: "date-time" }),
    hardware_id: Type.String({ description: "Of the machine that the license will be good on." }),
    product: text("As it was asked for; null: the vendor decides."),
    license_key: text("As it was sent."),
    filename: Type.String({ description: "A name for a file of it." }),
    payload: Type.String({ description: "The text to carry to the vendor." }),
    cloud_payload: text(
      "The same for a licensing cloud; null unless both keys and a license key are given.",
    ),
    cloud_filename: text("A name for a file of that."),
    warnings: Type.Array(Type.String(), {
      description: "What may keep the vendor's answer from being installed here.",
    }),
  },
  { title: "LicenseRequest" },
);

export const licenseGenerate = ({ licensing, peerOf }: RouteDeps) =>
  new Elysia({ name: "license-generate" }).post(
    "/api/v4/license/generate",
    async ({ body, request }): Promise<typeof Reply.static | string> => {
      const product = identifier("product", body.product);
      const key = identifier("license_key", body.license_key);
      const made = unwrap(await licensing.request(product, key, peerOf(request)));
      if (wantsText(request)) return made.document;
      return {
        request_id: made.request,
        created_at: rfc3339(made.at),
        hardware_id: made.hardwareId,
        product: made.product,
        license_key: made.licenseKey,
        filename: `berth-request-${made.request.slice(0, 8)}.jwt`,
        payload: made.document,
        cloud_payload: made.cloud,
        cloud_filename: made.cloud === null ? null : `request-${made.request.slice(0, 8)}.req`,
        warnings: [...made.warnings],
      };
    },
    {
      ...jsonBody(Body, { emptyAllowed: true }),
      ...describe({
        id: "generateLicenseRequest",
        summary: "Generate an offline license request payload",
        description:
          "For a product and a license key, for one of them, or for neither: then a vendor can enrol " +
          "the site. With Accept: text/plain, the payload alone.",
        reply: Reply,
        otherReplies: {
          "text/plain": Type.String({ description: "With Accept: text/plain, the payload alone." }),
        },
      }),
    },
  );

const wantsText = (request: Request): boolean =>
  (request.headers.get("accept") ?? "").toLowerCase().startsWith("text/plain");
