import { Elysia } from "elysia";
import { uploadBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import type { RouteDeps } from "../deps.ts";
import { Type, type Static } from "@sinclair/typebox";
import type { InstalledLicenseView } from "../../../operations/licenses/decided-license.ts";
import { LicenseObject, licenseObject } from "./license-object.ts";

export const licenseUpload = ({ licensing, peerOf }: RouteDeps) =>
  new Elysia({ name: "license-upload" }).post(
    "/api/v4/license/upload",
    async ({ body, request }) => {
      const { license } = body;
      if (license === undefined || license.trim() === "") {
        return refuse({ code: "missing_parameters", fields: ["license"] });
      }
      const installed = unwrap(await licensing.installLicense(license, peerOf(request)));
      return installedLicenseReply(installed);
    },
    {
      ...uploadBody(),
      ...describeRoute({
        plane: "admin",
        upload: true,
        id: "uploadLicense",
        summary: "Install a license from the vendor",
        description:
          "Send the license as a file (multipart, any field name), as text/plain, or as JSON.",
        requiredFields: ["license"],
        reply: InstalledLicenseReply,
        refusals: [
          "missing_parameters",
          "invalid_license_file",
          "untrusted_vendor",
          "trust_outdated",
          "retired_key",
          "key_ended",
          "hardware_mismatch",
          "request_unknown",
          "request_used",
          "stale_license",
        ],
      }),
    },
  );

/** The reply to a license file. */
const InstalledLicenseReply = Type.Object(
  {
    ...LicenseObject.properties,
    changes: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: "Changes of a renewal; null: a new license, or one that was already installed.",
    }),
  },
  { title: "InstalledLicense" },
);

const installedLicenseReply = (
  installed: InstalledLicenseView,
): Static<typeof InstalledLicenseReply> => ({
  ...licenseObject(installed, null),
  changes: installed.changes && [...installed.changes],
});
