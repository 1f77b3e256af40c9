import type { ReleasedBy } from "../model/event.ts";
import type { EventRows } from "../model/event-row.ts";
import { formatTime, formatTimestamp } from "../model/event-texts.ts";
import { machineOf, sentFieldsOf } from "../model/slots/contact.ts";

/** What the audit log says of slots and of the slots of features. */
export const SLOT_EVENTS: EventRows<
  | "SlotTaken"
  | "SlotRenewed"
  | "ContactChanged"
  | "SlotBorrowed"
  | "SlotReleased"
  | "SlotExpired"
  | "SlotRestored"
  | "FeatureTaken"
  | "FeatureRenewed"
  | "FeatureReleased"
  | "FeatureExpired"
> = {
  SlotTaken: {
    kind: "slots",
    isAudited: true,
    grants: "new",
    summary: ({ end }) => `slot taken until ${formatTime(end)}`,
    details: ({ slot, end, contact }) => ({
      slot,
      expires_at: formatTimestamp(end),
      ...sentFieldsOf(contact),
    }),
  },
  SlotRenewed: {
    kind: "slots",
    isAudited: ({ leasedTo }) => leasedTo !== undefined,
    grants: "renewal",
    summary: ({ contact, leasedTo }) =>
      (contact === undefined ? "slot renewed" : "slot renewed from another machine") +
      (leasedTo === undefined ? "" : ", borrow leased to a device"),
    details: ({ end, contact }) => ({
      expires_at: formatTimestamp(end),
      ...(contact && sentFieldsOf(contact)),
    }),
  },
  ContactChanged: {
    kind: "slots",
    isAudited: true,
    summary: ({ hostname }) =>
      hostname === "" ? "slot used from another machine" : `slot used from ${hostname}`,
    details: (event) => ({ slot: event.slot, ...sentFieldsOf(machineOf(event)) }),
  },
  SlotBorrowed: {
    kind: "slots",
    isAudited: true,
    grants: "new",
    summary: ({ until, early }) =>
      early
        ? `borrow shortened to ${formatTime(until)}`
        : `slot borrowed until ${formatTime(until)}`,
    details: ({ slot, until, end, contact, early }) => ({
      slot,
      borrowed_until: formatTimestamp(until),
      expires_at: formatTimestamp(end),
      early_return: early,
      ...sentFieldsOf(contact),
    }),
  },
  SlotReleased: {
    kind: "slots",
    isAudited: true,
    summary: ({ by, early }) =>
      `slot ${RELEASE_TEXTS[by]}${early ? " before its borrow ended" : ""}`,
    details: ({ slot, by, early }) => ({ slot, by, early_return: early }),
  },
  SlotExpired: {
    kind: "slots",
    isAudited: true,
    summary: () => "slot expired",
    details: ({ slot }) => ({ slot }),
  },
  SlotRestored: {
    kind: "slots",
    isAudited: true,
    summary: ({ until }) => `borrow restored until ${formatTime(until)}: the clock had been ahead`,
    details: ({ slot, until }) => ({ slot, borrowed_until: formatTimestamp(until) }),
  },
  FeatureTaken: {
    kind: "slots",
    isAudited: true,
    grants: "new",
    summary: ({ feature, end }) => `feature ${feature} taken until ${formatTime(end)}`,
    details: ({ feature, slot, end }) => ({ feature, slot, expires_at: formatTimestamp(end) }),
  },
  FeatureRenewed: {
    kind: "slots",
    isAudited: false,
    grants: "renewal",
    summary: ({ feature }) => `feature ${feature} renewed`,
    details: ({ feature, end }) => ({ feature, expires_at: formatTimestamp(end) }),
  },
  FeatureReleased: {
    kind: "slots",
    isAudited: true,
    summary: ({ feature, by }) => `feature ${feature} ${RELEASE_TEXTS[by]}`,
    details: ({ feature, slot, by }) => ({ feature, slot, by }),
  },
  FeatureExpired: {
    kind: "slots",
    isAudited: true,
    summary: ({ feature }) => `feature ${feature} expired`,
    details: ({ feature, slot }) => ({ feature, slot }),
  },
};

const RELEASE_TEXTS: { readonly [B in ReleasedBy]: string } = {
  user: "released",
  admin: "released by an administrator",
};
