import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { readHosts, readWants } from "../../request/wants.ts";
import { LicenseRequestReply, licenseRequestReply } from "./license-request.ts";
import type { RouteDeps } from "../deps.ts";

const Body = Type.Object(
  {
    product: fields.product,
    license_key: fields.license_key,
    wanted_slots: fields.wanted_slots,
    wanted_until: fields.wanted_until,
    note: fields.request_note,
    hosts: fields.hosts,
  },
  {
    title: "GenerateLicenseRequestBody",
    examples: [{ product: "DEMO", license_key: "ABCD-1234" }],
  },
);

export const licenseGenerate = ({ licensing, timekeeping, peerOf }: RouteDeps) =>
  new Elysia({ name: "license-generate" }).post(
    "/api/v4/license/generate",
    async ({ body, request }): Promise<LicenseRequestReply | string> => {
      const product = readIdentifier("product", body.product);
      const key = readIdentifier("license_key", body.license_key);
      const wants = readWants(body, timekeeping.view().now);
      const hosts = readHosts(body.hosts);
      const created = unwrap(await licensing.request(product, key, peerOf(request), wants, hosts));
      return wantsText(request) ? created.document : licenseRequestReply(created);
    },
    {
      ...jsonBody(Body, { emptyAllowed: true }),
      ...describeRoute({
        plane: "admin",
        id: "generateLicenseRequest",
        summary: "Generate an offline license request payload",
        description:
          "Takes a product, a license key, both or neither; with neither, a vendor can enrol the " +
          "site. wanted_slots, wanted_until and note travel in the signed request: the vendor sees " +
          "them as the site's wish. " +
          "With hosts 2, the request names both hosts of a pair, and so does the license. " +
          "With Accept: text/plain, the reply is the payload only.",
        reply: LicenseRequestReply,
        refusals: ["not_a_pair", "pair_incomplete"],
        otherReplies: {
          "text/plain": Type.String({ description: "With Accept: text/plain: the payload only." }),
        },
      }),
    },
  );

const wantsText = (request: Request): boolean =>
  (request.headers.get("accept") ?? "").toLowerCase().startsWith("text/plain");
