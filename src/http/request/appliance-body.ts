import { Type } from "@sinclair/typebox";
import { fields } from "./fields.ts";

/** The appliance's id is required, so that a misdirected request cannot stop a site. */
export const ApplianceBody = Type.Object(
  { appliance: fields.appliance },
  { title: "ApplianceBody" },
);
