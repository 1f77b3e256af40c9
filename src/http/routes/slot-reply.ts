import { Type } from "@sinclair/typebox";
import type { Contact } from "../../domain/state.ts";
import type { SlotAnswer } from "../../operations/operations.ts";
import { fields, freeText, text } from "../fields.ts";
import { licenseJson } from "../license-json.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { rfc3339OrNull } from "../timestamps.ts";

/** What a caller tells of itself when it takes or keeps a slot. */
export const contactFields = {
  os_hostname: fields.os_hostname,
  ip_local: fields.ip_local,
  user_info: fields.user_info,
};

const time = Type.String({ format: "date-time" });

/** What register and borrow answer. */
export const SlotReply = Type.Object({
  product: Type.String(),
  user: Type.String(),
  os_hostname: Type.String(),
  ip_local: Type.String(),
  user_info: Type.String(),
  license_id: Type.Integer(),
  registered_at: time,
  expires_at: Type.String({ format: "date-time", description: "The slot is free from here on." }),
  borrowed_until: Type.Union([time, Type.Null()]),
  is_borrowed: Type.Boolean(),
  floating_timeout: Type.Integer({ description: "Minutes." }),
  floating_users: Type.Integer(),
  floating_slots_in_use: Type.Integer({ description: "The caller counted." }),
  license_json: Type.String({ description: "The license object, as JSON in a string." }),
  lease: Type.Union([Type.String(), Type.Null()]),
});

/** As text: most of it is the license, which is not written anew for each caller. */
export function slotReply(slot: SlotAnswer, more: object = {}): string {
  const { contact, view, borrowedUntil } = slot;
  const said = JSON.stringify({
    product: slot.product,
    user: slot.user,
    os_hostname: contact.hostname,
    ip_local: contact.ip,
    user_info: contact.info,
    license_id: slot.license,
    registered_at: rfc3339(slot.registeredAt),
    expires_at: rfc3339(slot.end),
    borrowed_until: rfc3339OrNull(borrowedUntil),
    is_borrowed: borrowedUntil !== null,
    floating_timeout: view.terms.timeoutMinutes,
    floating_users: view.terms.slots,
    floating_slots_in_use: slot.slotsInUse,
    lease: slot.lease,
    ...more,
  });
  return `${said.slice(0, -1)},"license_json":${licenseJson(view, slot)}}`;
}

type ContactBody = { readonly [K in keyof typeof contactFields]?: string };

export const contactOf = (body: ContactBody, peer: string): Contact => ({
  hostname: text("os_hostname", body.os_hostname),
  ip: text("ip_local", body.ip_local),
  info: freeText("user_info", body.user_info),
  peer,
});
