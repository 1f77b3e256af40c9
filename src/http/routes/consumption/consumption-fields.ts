import { Type } from "@sinclair/typebox";
import {
  readBoolean,
  readConsumptions,
  fields,
  readIdempotencyKey,
  readLicenseId,
  readMaxOverages,
} from "../../request/fields.ts";
import { consumptionShape } from "../licenses/license-object.ts";
import type { RouteDeps } from "../deps.ts";

/** Body fields that consumption of licenses and of features share. */
export const consumptionBodyFields = {
  consumptions: fields.consumptions,
  max_overages: fields.max_overages,
  allow_overages: fields.allow_overages,
  user: fields.user,
  license_id: fields.license_id,
};

type ConsumptionBody = { readonly [K in keyof typeof consumptionBodyFields]?: string };

export const readConsumptionBody = (
  body: ConsumptionBody,
  request: Request,
  { peerOf, userOf }: Pick<RouteDeps, "peerOf" | "userOf">,
) => ({
  user: userOf(request, body.user),
  licenseId: readLicenseId(body.license_id),
  count: readConsumptions(body.consumptions),
  maxOverages: readMaxOverages(body.max_overages),
  allowOverages: readBoolean("allow_overages", body.allow_overages),
  idempotencyKey: readIdempotencyKey(request),
  peer: peerOf(request),
});

const maxConsumption = Type.Union([Type.Integer(), Type.Null()], {
  description: "Maximum consumption; null: no maximum.",
});

export const ConsumptionReply = Type.Object(
  {
    license_id: Type.Integer({ description: "License that the consumption was counted on." }),
    max_consumptions: maxConsumption,
    ...consumptionShape,
  },
  { title: "Consumption" },
);

export const FeatureConsumptionReply = Type.Composite(
  [
    ConsumptionReply,
    Type.Object({
      feature: Type.String({ description: "Feature code." }),
      max_consumption: maxConsumption,
    }),
  ],
  { title: "FeatureConsumption" },
);
