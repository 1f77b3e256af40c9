import type { ContactChanged } from "../model/event.ts";
import { limits } from "../model/limits.ts";
import { isSameMachine, machineOf, type Contact } from "../model/slots/contact.ts";
import type { Registration } from "../model/slots/registration.ts";
import type { License } from "../model/state.ts";
import { later, type Instant } from "../time.ts";

/**
 * The event to audit when a slot's holder calls from another machine. Two machines may alternate
 * under one user name with every heartbeat, so a change is audited at most once a day. A change
 * within that day is audited with the first heartbeat after it.
 */
export function findContactChange(
  { id: license }: License,
  registration: Registration,
  contact: Contact,
  at: Instant,
): ContactChanged[] {
  const { user, slot, contactAuditedAt: auditedAt } = registration;
  if (!registration.isContactUnaudited && isSameMachine(registration.contact, contact)) return [];
  if (auditedAt !== null && at < later(auditedAt, limits.contactAuditInterval)) return [];
  return [{ type: "ContactChanged", at, license, user, slot, ...machineOf(contact) }];
}
