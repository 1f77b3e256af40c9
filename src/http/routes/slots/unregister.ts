import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import { fields, readIdentifier, readLicenseId } from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";

export const UnregisterBody = Type.Object(
  { product: fields.product, user: fields.user, license_id: fields.license_id },
  { title: "UnregisterBody", examples: [{ product: "DEMO", user: "ada" }] },
);

export const unregister = ({ slots, peerOf, userOf }: RouteDeps) =>
  new Elysia({ name: "unregister" }).post(
    "/api/v4/unregister",
    async ({ body, request }) => {
      unwrap(
        await slots.unregister({
          product: readIdentifier("product", body.product),
          user: userOf(request, body.user),
          licenseId: readLicenseId(body.license_id),
          by: "user",
          peer: peerOf(request),
        }),
      );
      return "user_unregistered";
    },
    {
      ...jsonBody(UnregisterBody),
      ...describeRoute({
        plane: "client",
        id: "unregister",
        summary: "Release a slot",
        description: "Also returns a borrowed slot early, if the license allows it.",
        requiredFields: ["user"],
        text: "user_unregistered",
        refusals: [
          "missing_parameters",
          "unknown_product",
          "license_not_found",
          "user_not_registered",
          "early_return_not_allowed",
        ],
      }),
    },
  );
