import { Type, type Static } from "@sinclair/typebox";
import { eventTypes } from "../../domain/event-catalogue.ts";
import { refuse } from "../faults.ts";
import type { AuditFilter } from "../routes/audit/audit-entry.ts";
import {
  field,
  fields,
  readFreeText,
  readIdentifier,
  readLicenseId,
  readTimestamp,
} from "./fields.ts";

export const auditPeriodFields = {
  since: field("RFC 3339; no events before this time.", { instant: true }),
  until: field("RFC 3339; no events after this time.", { instant: true }),
};

export const auditFilterFields = {
  type: field("Event types, separated by commas."),
  user: field("Only events of this user."),
  product: field("Only events of this product, installed or not."),
  license_id: fields.license_id,
  text: field("Only events with this text in a field, in upper or lower case."),
  ...auditPeriodFields,
};

const FilterQuery = Type.Object(auditFilterFields);

/** The events that a query selects. */
export function readAuditFilter(query: Partial<Static<typeof FilterQuery>>): AuditFilter {
  return {
    types: readEventTypes(query.type),
    user: readIdentifier("user", query.user),
    product: readIdentifier("product", query.product),
    licenseId: readLicenseId(query.license_id),
    since: readTimestamp("since", query.since),
    until: readTimestamp("until", query.until),
    text: readFreeText("text", query.text) || null,
  };
}

function readEventTypes(value: string | undefined): ReadonlySet<string> | null {
  if (value === undefined || value === "") return null;
  const types = value.split(",").map((type) => type.trim());
  if (!types.every((type) => eventTypes.has(type))) {
    const expected = "event types such as SlotTaken,SlotReleased";
    refuse({ code: "invalid_parameter", field: "type", expected });
  }
  return new Set(types);
}
