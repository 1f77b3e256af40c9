import { Type, type Static } from "@sinclair/typebox";
import type { CreatedLicenseRequest } from "../../../operations/licenses/licensing.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";

const text = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** A request with its signed document, when it is created and when it is shown again. */
export const LicenseRequestReply = Type.Object(
  {
    request_id: Type.String({
      description: "Request id; the license that answers the request contains it.",
    }),
    created_at: Type.String({ format: "date-time" }),
    hardware_id: Type.String({
      description: "Hardware id of the machine that the license will be valid on.",
    }),
    hosts: Type.Optional(
      Type.Array(Type.String(), {
        description: "Names of both hosts, if the request is for two.",
      }),
    ),
    product: text("Requested product; null: the vendor decides."),
    license_key: text("License key as sent in the request."),
    filename: Type.String({ description: "Suggested file name for the payload." }),
    payload: Type.String({ description: "The license request to send to the vendor." }),
    cloud_payload: text(
      "The request for a licensing cloud; null unless both keys are set and a license key is given.",
    ),
    cloud_filename: text("Suggested file name for cloud_payload."),
    warnings: Type.Array(Type.String(), {
      description: "Reasons why the vendor's license may not be installable here.",
    }),
  },
  { title: "LicenseRequest" },
);

export type LicenseRequestReply = Static<typeof LicenseRequestReply>;

export const licenseRequestReply = (created: CreatedLicenseRequest): LicenseRequestReply => ({
  request_id: created.request,
  created_at: rfc3339(created.at),
  hardware_id: created.hardwareId,
  ...(created.hosts.length > 0 && { hosts: [...created.hosts] }),
  product: created.product,
  license_key: created.licenseKey,
  filename: `berth-request-${created.request.slice(0, 8)}.jwt`,
  payload: created.document,
  cloud_payload: created.cloud,
  cloud_filename: created.cloud === null ? null : `request-${created.request.slice(0, 8)}.req`,
  warnings: [...created.warnings],
});
