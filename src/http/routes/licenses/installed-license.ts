import { Type, type Static } from "@sinclair/typebox";
import type { InstalledLicenseView } from "../../../operations/licenses/decided-license.ts";
import { LicenseObject, licenseObject } from "./license-object.ts";

/** The reply to a license file. */
export const InstalledLicenseReply = Type.Object(
  {
    ...LicenseObject.properties,
    changes: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: "Changes of a renewal; null: a new license, or one that was already installed.",
    }),
  },
  { title: "InstalledLicense" },
);

export const installedLicenseReply = (
  installed: InstalledLicenseView,
): Static<typeof InstalledLicenseReply> => ({
  ...licenseObject(installed, null),
  changes: installed.changes && [...installed.changes],
});
