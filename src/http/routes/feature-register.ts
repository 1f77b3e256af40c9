import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../body.ts";
import { describeRoute } from "../describe-route.ts";
import { unwrap } from "../faults.ts";
import { fields, readIdentifier, readLicenseId } from "../fields.ts";
import { featureObject, FeatureObject } from "../license-object.ts";
import { readQuery } from "../query.ts";
import type { RouteDeps } from "./deps.ts";
import { contactFields, contactOf } from "./slot-reply.ts";

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

const page = {
  summary: "Take a slot of a floating feature",
  description:
    "The user must hold a slot of the license; the feature's slot expires no later than that slot. " +
    "Calling again is the heartbeat that keeps the feature's slot.",
  requiredFields: ["feature", "user"],
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
    "audit_budget_exhausted",
  ] as const,
};

/** One act under three names; clients use any of them. */
export const featureRegister = ({ operations, peerOf, userOf }: RouteDeps) => {
  const take = async (asked: RegisterFeatureFields, request: Request) => {
    // The holder's host is known from the license's slot; here it is read only to be judged.
    const { peer } = contactOf(asked, peerOf(request));
    const taken = await operations.registerFeature({
      product: readIdentifier("product", asked.product),
      feature: readIdentifier("feature", asked.feature),
      user: userOf(request, asked.user),
      licenseId: readLicenseId(asked.license_id),
      peer,
    });
    return featureObject(unwrap(taken));
  };
  const posted = (id: string) => ({ ...jsonBody(Body), ...describeRoute({ ...page, id }) });
  return new Elysia({ name: "feature-register" })
    .post(
      "/api/v4/featureRegister",
      ({ body, request }) => take(body, request),
      posted("registerFeature"),
    )
    .post(
      "/api/v4/check_license_feature",
      ({ body, request }) => take(body, request),
      posted("checkFeature"),
    )
    .get(
      "/api/v4/check_license_feature",
      ({ request, set }) => take(readQuery(Body, request, set.headers), request),
      describeRoute({ ...page, id: "checkFeatureByQuery", query: Body }),
    );
};
