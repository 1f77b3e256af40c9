import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields, readBoolean, readLicenseId } from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";

const Body = Type.Object(
  { license_id: fields.license_id, with_borrows: fields.with_borrows },
  { title: "RemoveLicenseBody" },
);

export const licenseRemove = ({ licensing, peerOf }: RouteDeps) =>
  new Elysia({ name: "license-remove" }).post(
    "/api/admin/v1/licenses/remove",
    async ({ body, request }) => {
      const id = readLicenseId(body.license_id);
      if (id === null) return refuse({ code: "missing_parameters", fields: ["license_id"] });
      const withBorrows = readBoolean("with_borrows", body.with_borrows) ?? false;
      return { receipt: unwrap(await licensing.removeLicense(id, withBorrows, peerOf(request))) };
    },
    {
      ...jsonBody(Body),
      ...describeRoute({
        plane: "admin",
        id: "removeLicense",
        summary: "Return a license to its vendor",
        requiredFields: ["license_id"],
        destructiveEffect:
          "The license and its slots are removed permanently; only the vendor can issue it again.",
        reply: Type.Object({ receipt: Type.String() }, { title: "Receipt" }),
        refusals: ["missing_parameters", "license_not_found", "slots_borrowed"],
      }),
    },
  );
