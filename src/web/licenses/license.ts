import type { FeatureObject, LicenseObject } from "../../http/reply/license-object.ts";
import type { StatusReply } from "../../http/reply/status.ts";

/** The terms of a license, as every client of the server sees them. */
export type License = typeof LicenseObject.static;
export type Feature = typeof FeatureObject.static;

/** Its use and validity now. */
export type LicenseStatus = StatusReply["licenses"][number];
