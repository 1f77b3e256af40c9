import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import { fields, readIdentifier, readLicenseId } from "../../request/fields.ts";
import type { ReplyHeaders } from "../../request/ignored-fields.ts";
import { ignoreQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

const Body = Type.Object(
  {
    product: fields.product,
    feature: fields.feature,
    user: fields.user,
    license_id: fields.license_id,
  },
  { title: "ReleaseFeatureBody", examples: [{ product: "DEMO", feature: "RENDER", user: "ada" }] },
);

const describeRelease = (id: string) => ({
  ...jsonBody(Body),
  ...describeRoute({
    plane: "client",
    id,
    summary: "Release a slot of a floating feature",
    requiredFields: ["feature", "user"],
    text: "feature_released",
    refusals: [
      "missing_parameters",
      "unknown_product",
      "license_not_found",
      "invalid_license_feature_code",
      "user_not_registered",
    ],
  }),
});

const describeReleaseAll = (id: string) =>
  describeRoute({
    plane: "admin",
    changesByGet: true,
    id,
    summary: "Release all slots of all floating features",
    destructiveEffect: "All users of floating features lose their feature slots immediately.",
  });

interface HandlerContext {
  readonly request: Request;
  readonly set: { readonly headers: ReplyHeaders };
}

/** One operation on two routes, each also with "all". */
export const featureRelease = ({ features, peerOf, userOf }: RouteDeps) => {
  const release = async (body: typeof Body.static, request: Request): Promise<string> => {
    unwrap(
      await features.release({
        product: readIdentifier("product", body.product),
        feature: readIdentifier("feature", body.feature),
        user: userOf(request, body.user),
        licenseId: readLicenseId(body.license_id),
        peer: peerOf(request),
      }),
    );
    return "feature_released";
  };
  const releaseAll = async ({ request, set }: HandlerContext): Promise<Response> => {
    ignoreQuery(request, set.headers);
    unwrap(await features.releaseAll({ peer: peerOf(request) }));
    return new Response(null);
  };
  return new Elysia({ name: "feature-release" })
    .post(
      "/api/v4/featureRelease",
      ({ body, request }) => release(body, request),
      describeRelease("releaseFeature"),
    )
    .post(
      "/api/v4/feature_release",
      ({ body, request }) => release(body, request),
      describeRelease("returnFeature"),
    )
    .get("/api/v4/featureRelease/all", releaseAll, describeReleaseAll("releaseAllFeatures"))
    .get("/api/v4/feature_release/all", releaseAll, describeReleaseAll("returnAllFeatures"));
};
