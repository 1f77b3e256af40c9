import type { Event } from "../../domain/event.ts";

/** The kinds of events to filter by, in the order they are offered. */
export const EVENT_KINDS = [
  "slots",
  "licenses",
  "consumption",
  "refusals",
  "administration",
  "appliance",
] as const;

export type EventKind = (typeof EVENT_KINDS)[number];

/** The type requires every event type to have a kind. */
const KIND_BY_TYPE: { readonly [T in Event["type"]]: EventKind } = {
  SlotTaken: "slots",
  SlotRenewed: "slots",
  ContactChanged: "slots",
  SlotBorrowed: "slots",
  SlotReleased: "slots",
  SlotExpired: "slots",
  SlotRestored: "slots",
  FeatureTaken: "slots",
  FeatureRenewed: "slots",
  FeatureReleased: "slots",
  FeatureExpired: "slots",
  VendorTrusted: "licenses",
  VendorDistrusted: "licenses",
  RequestMade: "licenses",
  ActivationMade: "licenses",
  LicenseInstalled: "licenses",
  LicenseRemoved: "licenses",
  ConsumptionAdded: "consumption",
  FeatureConsumptionAdded: "consumption",
  KeyRemembered: "consumption",
  RefusalsCounted: "refusals",
  KeysSet: "administration",
  AccessChanged: "administration",
  Created: "appliance",
  Restored: "appliance",
  MovedAway: "appliance",
  MovedIn: "appliance",
  AuditGapDeclared: "administration",
  ClockMarked: "appliance",
  ClockAsked: "appliance",
  ClockJumped: "appliance",
  ClockSetBack: "appliance",
};

/** An unknown type, from a newer server, counts as `appliance`. */
export const eventKindOf = (type: string): EventKind =>
  Object.hasOwn(KIND_BY_TYPE, type) ? KIND_BY_TYPE[type as Event["type"]] : "appliance";

export const eventTypesOf = (kind: EventKind): string[] =>
  Object.entries(KIND_BY_TYPE).flatMap(([type, typeKind]) => (typeKind === kind ? [type] : []));
