import type { FeatureObject, LicenseObject } from "../../http/routes/licenses/license-object.ts";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";

/** The terms of a license, as every client of the server sees them. */
export type License = typeof LicenseObject.static;
export type Feature = typeof FeatureObject.static;

/** Its use and validity now. */
export type LicenseStatus = StatusReply["licenses"][number];
