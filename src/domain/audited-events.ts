import type { Event } from "./event.ts";

/**
 * Whether an event makes its line part of the audit log. All do except renewals, which would fill
 * the disk; a renewal that leases a borrow to a device is audited. For lines written by older
 * versions, the line itself says whether it is audited.
 */
export function isAudited(event: Event): boolean {
  if (event.type === "SlotRenewed") return event.leasedTo !== undefined;
  return event.type !== "FeatureRenewed" && event.type !== "ClockMarked";
}

/**
 * Events that any caller can cause without limit and that the audit log keeps. Renewals and
 * releases are not among them: they need a slot that was granted before.
 */
export const isGrantEvent = ({ type }: Event): boolean => GRANT_EVENT_TYPES.has(type);

const GRANT_EVENT_TYPES: ReadonlySet<string> = new Set<Event["type"]>([
  "SlotTaken",
  "SlotBorrowed",
  "FeatureTaken",
  "ConsumptionAdded",
  "FeatureConsumptionAdded",
]);
