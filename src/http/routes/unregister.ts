import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../body.ts";
import { describe } from "../describe.ts";
import { unwrap } from "../faults.ts";
import { fields, identifier, licenseId } from "../fields.ts";
import type { RouteDeps } from "./deps.ts";

export const UnregisterBody = Type.Object(
  { product: fields.product, user: fields.user, license_id: fields.license_id },
  { title: "UnregisterBody", examples: [{ product: "DEMO", user: "ada" }] },
);

export const unregister = ({ operations, peerOf, userOf }: RouteDeps) =>
  new Elysia({ name: "unregister" }).post(
    "/api/v4/unregister",
    async ({ body, request }) => {
      unwrap(
        await operations.unregister({
          product: identifier("product", body.product),
          user: userOf(request, body.user),
          licenseId: licenseId(body.license_id),
          by: "user",
          peer: peerOf(request),
        }),
      );
      return "user_unregistered";
    },
    {
      ...jsonBody(UnregisterBody),
      ...describe({
        id: "unregister",
        summary: "Release a slot",
        description: "Also returns a borrowed slot early, if the license allows it.",
        needs: ["user"],
        text: "user_unregistered",
        refuses: [
          "missing_parameters",
          "unknown_product",
          "license_not_found",
          "user_not_registered",
          "early_return_not_allowed",
        ],
      }),
    },
  );
