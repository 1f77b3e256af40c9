import type { ContactChanged } from "./event.ts";
import { limits } from "./limits.ts";
import type { Contact, Registration } from "./registration.ts";
import type { License } from "./state.ts";
import { later, type Instant } from "./time.ts";

/** Who speaks for a slot, without what the caller says of itself at length. */
export type Machine = Omit<Contact, "info">;

export const machineOf = ({ hostname, ip, peer }: Contact): Machine => ({ hostname, ip, peer });

export const isSameMachine = (a: Machine, b: Machine): boolean =>
  a.hostname === b.hostname && a.ip === b.ip && a.peer === b.peer;

/**
 * What the audit log is told when a slot's holder is heard from. Two machines may take turns under
 * one name with every heartbeat, so it is told at most once a day; what it missed meanwhile, it is
 * told with the first heartbeat after that.
 */
export function findContactChange(
  { id: license }: License,
  held: Registration,
  contact: Contact,
  at: Instant,
): ContactChanged[] {
  const { user, slot, contactAuditedAt: audited } = held;
  if (!held.isContactUnaudited && isSameMachine(held.contact, contact)) return [];
  if (audited !== null && at < later(audited, limits.contactAuditInterval)) return [];
  return [{ type: "ContactChanged", at, license, user, slot, ...machineOf(contact) }];
}
