import { Type, type Static, type TSchema } from "@sinclair/typebox";
import { computeUseEnd } from "../../../domain/slots/leases.ts";
import type { Contact, SentContactName } from "../../../domain/model/slots/contact.ts";
import type { SlotResult } from "../../../operations/slots/slots.ts";
import { freeText, name, readFreeText, readText } from "../../request/fields.ts";
import { licenseJson } from "../licenses/license-json.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { rfc3339OrNull } from "../../timestamps.ts";

/** Fields with which a caller describes itself. */
export const contactFields = {
  os_hostname: name("Host name of the user's machine; shown to the operator."),
  ip_local: name("The machine's local address; shown to the operator."),
  user_info: freeText("Free text for the operator; may be empty."),
} satisfies Readonly<Record<SentContactName, TSchema>>;

/** For the examples of the OpenAPI document and of the demo. */
export const EXAMPLE_CONTACT: Readonly<Record<SentContactName, string>> = {
  os_hostname: "ws-17",
  ip_local: "10.0.0.17",
  user_info: "",
};

/** The same fields in a reply. */
export const contactSchema = <S extends TSchema>(schema: S): Record<SentContactName, S> => ({
  os_hostname: schema,
  ip_local: schema,
  user_info: schema,
});

export const contactReply = ({ hostname, ip, info }: Contact): Record<SentContactName, string> => ({
  os_hostname: hostname,
  ip_local: ip,
  user_info: info,
});

const text = (description: string) => Type.String({ description });
const integer = (description: string) => Type.Integer({ description });
const time = (description: string) => Type.String({ format: "date-time", description });

/** Reply of register and borrow. */
export const SlotReply = Type.Object(
  {
    product: text("Product code."),
    user: text("User of the slot."),
    ...contactSchema(text("As sent in the request.")),
    license_id: integer("License of the slot."),
    registered_at: time("Start of the uninterrupted registration."),
    expires_at: time("The slot is free, or its license ends, at this time."),
    borrowed_until: Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
      description: "End of the borrow; null: not borrowed.",
    }),
    is_borrowed: Type.Boolean({ description: "Whether the slot is borrowed." }),
    floating_timeout: integer("Minutes within which to register again to keep the slot."),
    floating_users: integer("Number of slots of the license."),
    floating_slots_in_use: integer("Slots in use, including this one."),
    license_json: Type.String({
      description: "The license object of GET /api/v4/license, as JSON in a string.",
    }),
    lease: Type.Union([Type.String(), Type.Null()], {
      description:
        "Signed proof of the slot, which an application can verify offline; null for register " +
        "without X-Nonce.",
    }),
  },
  { title: "Slot" },
);

/** JSON text: most of it is the license, whose JSON is cached for all callers. */
export function slotReply(slot: SlotResult, extraFields: object | null = null): string {
  const { contact, view, borrowedUntil } = slot;
  // Written out: a heartbeat spends much of its time here.
  const reply: Omit<Static<typeof SlotReply>, "license_json"> = {
    product: slot.product,
    user: slot.user,
    os_hostname: contact.hostname,
    ip_local: contact.ip,
    user_info: contact.info,
    license_id: slot.license,
    registered_at: rfc3339(slot.registeredAt),
    expires_at: rfc3339(computeUseEnd(view.terms, slot.end)),
    borrowed_until: rfc3339OrNull(borrowedUntil),
    is_borrowed: borrowedUntil !== null,
    floating_timeout: view.terms.timeoutMinutes,
    floating_users: view.terms.slots,
    floating_slots_in_use: slot.slotsInUse,
    lease: slot.lease,
  };
  const json = JSON.stringify(extraFields === null ? reply : { ...reply, ...extraFields });
  return `${json.slice(0, -1)},"license_json":${licenseJson(view, slot)}}`;
}

type ContactBody = { readonly [K in keyof typeof contactFields]?: string };

export const contactOf = (body: ContactBody, peer: string): Contact => ({
  hostname: readText("os_hostname", body.os_hostname),
  ip: readText("ip_local", body.ip_local),
  info: readFreeText("user_info", body.user_info),
  peer,
});
