import type { Event } from "./event.ts";

/**
 * Whether an event makes its line part of the audit log: all but renewals, which would fill the
 * disk, other than the one that leases a borrow to a device. Lines written before are audited if
 * they say so themselves.
 */
export function isAudited(event: Event): boolean {
  if (event.type === "SlotRenewed") return event.leasedTo !== undefined;
  return event.type !== "FeatureRenewed" && event.type !== "ClockMarked";
}

/**
 * What anybody may cause without end, and the audit log keeps. Not so renewals and what is given
 * back: those need something that was given out.
 */
export const isGrantEvent = ({ type }: Event): boolean => GRANT_EVENT_TYPES.has(type);

const GRANT_EVENT_TYPES: ReadonlySet<string> = new Set<Event["type"]>([
  "SlotTaken",
  "SlotBorrowed",
  "FeatureTaken",
  "ConsumptionAdded",
  "FeatureConsumptionAdded",
]);
