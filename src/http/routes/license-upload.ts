import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { uploadBody } from "../request/body.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { refuse, unwrap } from "../faults.ts";
import { LicenseObject, licenseObject } from "../reply/license-object.ts";
import type { RouteDeps } from "./deps.ts";

const Reply = Type.Object(
  {
    ...LicenseObject.properties,
    changes: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: "Changes of a renewal; null: a new license, or one that was already installed.",
    }),
  },
  { title: "InstalledLicense" },
);

export const licenseUpload = ({ licensing, peerOf }: RouteDeps) =>
  new Elysia({ name: "license-upload" }).post(
    "/api/v4/license/upload",
    async ({ body, request }) => {
      const { license } = body;
      if (license === undefined || license.trim() === "") {
        return refuse({ code: "missing_parameters", fields: ["license"] });
      }
      const installed = unwrap(await licensing.installLicense(license, peerOf(request)));
      return {
        ...licenseObject(installed, null),
        changes: installed.changes && [...installed.changes],
      };
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
        reply: Reply,
        refusals: [
          "missing_parameters",
          "invalid_license_file",
          "untrusted_vendor",
          "hardware_mismatch",
          "request_unknown",
          "request_used",
          "stale_license",
        ],
      }),
    },
  );
