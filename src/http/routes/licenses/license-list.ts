import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { unwrap } from "../../faults.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import type { RouteDeps } from "../deps.ts";
import { licenseObject, LicenseObject } from "./license-object.ts";

export const licenseList = ({ licensing }: RouteDeps) =>
  new Elysia({ name: "license-list", prefix: "/api/admin/v1" }).get(
    "/licenses",
    async () =>
      unwrap(await licensing.listLicenses()).map((license) => licenseObject(license, null)),
    describeRoute({
      plane: "admin",
      id: "listLicenses",
      summary: "List installed licenses",
      reply: Type.Array(LicenseObject),
    }),
  );
