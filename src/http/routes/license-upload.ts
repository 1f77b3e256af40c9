import { Elysia } from "elysia";
import { uploadBody } from "../body.ts";
import { describe } from "../describe.ts";
import { refuse, unwrap } from "../faults.ts";
import { LicenseObject, licenseObject } from "../license-object.ts";
import type { RouteDeps } from "./deps.ts";

export const licenseUpload = ({ licensing, peerOf }: RouteDeps) =>
  new Elysia({ name: "license-upload" }).post(
    "/api/v4/license/upload",
    async ({ body, request }) => {
      const { license } = body;
      if (license === undefined || license.trim() === "") {
        return refuse({ code: "missing_parameters", fields: ["license"] });
      }
      return licenseObject(unwrap(await licensing.install(license, peerOf(request))), null);
    },
    {
      ...uploadBody(),
      ...describe({
        upload: true,
        id: "uploadLicense",
        summary: "Install a license the vendor sent",
        description: "As a file (multipart, any field name), as text/plain, or as JSON.",
        needs: ["license"],
        reply: LicenseObject,
        refuses: [
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
