import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { consumptionReplyFields } from "../licenses/license-object.ts";
import {
  ConsumptionReply,
  consumptionBodyFields,
  readConsumptionBody,
} from "./consumption-fields.ts";
import type { RouteDeps } from "../deps.ts";

const Body = Type.Object(
  { product: fields.product, ...consumptionBodyFields },
  {
    title: "AddConsumptionBody",
    examples: [{ product: "DEMO", consumptions: "1", max_overages: "10", allow_overages: "true" }],
  },
);

export const addConsumption = ({ consumption, ...context }: RouteDeps) =>
  new Elysia({ name: "add-consumption" }).post(
    "/api/v4/add_consumption",
    async ({ body, request }): Promise<typeof ConsumptionReply.static> => {
      const { total, view } = unwrap(
        await consumption.add({
          product: readIdentifier("product", body.product),
          ...readConsumptionBody(body, request, context),
        }),
      );
      const { consumption: terms } = view.terms;
      return {
        license_id: view.id,
        max_consumptions: terms?.max ?? null,
        ...consumptionReplyFields(terms, total),
      };
    },
    {
      ...jsonBody(Body),
      ...describeRoute({
        plane: "client",
        id: "addConsumption",
        summary: "Add license consumption for a product",
        description:
          "Counts the whole number or nothing. Overage limits in the request can only lower those of " +
          "the license.",
        reply: ConsumptionReply,
        idempotent: true,
        refusals: [
          "missing_parameters",
          "invalid_number",
          "unknown_product",
          "license_not_found",
          "license_not_active",
          "license_not_enabled",
          "license_expired",
          "license_not_consumption",
          "license_not_enough_consumptions",
          "negative_not_allowed",
          "idempotency_key_reused",
          "audit_budget_exhausted",
        ],
      }),
    },
  );
