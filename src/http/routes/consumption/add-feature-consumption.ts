import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { consumptionReplyFields } from "../licenses/license-object.ts";
import {
  consumptionBodyFields,
  readConsumptionBody,
  FeatureConsumptionReply,
} from "./consumption-fields.ts";
import type { RouteDeps } from "../deps.ts";

const Body = Type.Object(
  { product: fields.product, feature: fields.feature, ...consumptionBodyFields },
  {
    title: "AddFeatureConsumptionBody",
    examples: [{ product: "DEMO", feature: "EXPORT", consumptions: "1" }],
  },
);

export const addFeatureConsumption = ({ consumption, ...context }: RouteDeps) =>
  new Elysia({ name: "add-feature-consumption" }).post(
    "/api/v4/add_feature_consumption",
    async ({ body, request }): Promise<typeof FeatureConsumptionReply.static> => {
      const { license, total, view } = unwrap(
        await consumption.addForFeature({
          product: readIdentifier("product", body.product),
          feature: readIdentifier("feature", body.feature),
          ...readConsumptionBody(body, request, context),
        }),
      );
      const { consumption: terms, code } = view.terms;
      return {
        license_id: license,
        feature: code,
        max_consumption: terms?.max ?? null,
        max_consumptions: terms?.max ?? null,
        ...consumptionReplyFields(terms, total),
      };
    },
    {
      ...jsonBody(Body),
      ...describeRoute({
        plane: "client",
        id: "addFeatureConsumption",
        summary: "Add consumption of a feature",
        description: "Counts the whole number or nothing.",
        requiredFields: ["feature"],
        reply: FeatureConsumptionReply,
        idempotent: true,
        refusals: [
          "missing_parameters",
          "invalid_number",
          "unknown_product",
          "license_not_found",
          "license_not_active",
          "license_not_enabled",
          "license_expired",
          "invalid_license_feature_code",
          "unsupported_product_feature",
          "feature_not_enough_consumptions",
          "negative_not_allowed",
          "idempotency_key_reused",
          "audit_budget_exhausted",
        ],
      }),
    },
  );
