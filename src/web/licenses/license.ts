import type { FeatureObject, LicenseObject } from "../../http/license-object.ts";
import type { StatusReply } from "../../http/status.ts";

/** What the vendor granted, as every client of the server sees it. */
export type License = typeof LicenseObject.static;
export type Feature = typeof FeatureObject.static;

/** How it stands now. */
export type LicenseStatus = StatusReply["licenses"][number];
