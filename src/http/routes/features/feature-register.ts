import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import { fields, readIdentifier, readLicenseId } from "../../request/fields.ts";
import { featureObject, FeatureObject } from "../licenses/license-object.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";
import { contactFields, contactOf } from "../slots/slot-reply.ts";

const Body = Type.Object(
  {
    product: fields.product,
    feature: fields.feature,
    user: fields.user,
    ...contactFields,
    license_id: fields.license_id,
  },
  { title: "RegisterFeatureBody", examples: [{ product: "DEMO", feature: "RENDER", user: "ada" }] },
);

type RegisterFeatureFields = { readonly [K in keyof typeof Body.static]?: string };

const operation = {
  plane: "client" as const,
  summary: "Take a slot of a floating feature",
  description:
    "The user must hold a slot of the license; the feature's slot expires no later than that slot. " +
    "Calling again is the heartbeat that keeps the feature's slot.",
  requiredFields: ["feature", "user"] as const,
  reply: FeatureObject,
  refusals: [
    "missing_parameters",
    "unknown_product",
    "license_not_found",
    "license_expired",
    "user_not_registered",
    "invalid_license_feature_code",
    "feature_not_floating",
    "floating_not_available",
    "slots_capped",
    "not_allowed_by_rules",
    "audit_budget_exhausted",
  ] as const,
};

/** One operation on three routes; existing clients use any of them. */
export const featureRegister = ({ features, peerOf, userOf, identityOf }: RouteDeps) => {
  const register = async (body: RegisterFeatureFields, request: Request) => {
    // The host is already known from the slot of the license; here its fields are only validated.
    const { peer } = contactOf(body, peerOf(request));
    const user = userOf(request, body.user);
    const feature = await features.register({
      product: readIdentifier("product", body.product),
      feature: readIdentifier("feature", body.feature),
      user,
      licenseId: readLicenseId(body.license_id),
      peer,
      identity: identityOf(request, user),
    });
    return featureObject(unwrap(feature));
  };
  const describePost = (id: string) => ({
    ...jsonBody(Body, { isHeartbeat: true }),
    ...describeRoute({ ...operation, id }),
  });
  return new Elysia({ name: "feature-register" })
    .post(
      "/api/v4/featureRegister",
      ({ body, request }) => register(body, request),
      describePost("registerFeature"),
    )
    .post(
      "/api/v4/check_license_feature",
      ({ body, request }) => register(body, request),
      describePost("checkFeature"),
    )
    .get(
      "/api/v4/check_license_feature",
      ({ request, set }) => register(readQuery(Body, request, set.headers), request),
      describeRoute({ ...operation, id: "checkFeatureByQuery", query: Body, changesByGet: true }),
    );
};
