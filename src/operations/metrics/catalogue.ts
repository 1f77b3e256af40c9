import type { Metric } from "../../platform/metrics/metric.ts";
import { PAIR_METRICS } from "./pair-catalogue.ts";
import { SERVER_METRICS } from "./server-catalogue.ts";

const LICENSE_LABELS = ["product", "license"] as const;
const FEATURE_LABELS = ["product", "feature"] as const;

/**
 * All metrics. No label may hold a user, a host or an address, and the number of series must not
 * depend on the number of users.
 */
export const METRICS = {
  build: { name: "berth_build", type: "info", help: "The version of Berth.", labels: ["version"] },

  licenseSlots: {
    name: "berth_license_slots",
    type: "gauge",
    help: "Slots of a license.",
    labels: LICENSE_LABELS,
  },
  licenseSlotsInUse: {
    name: "berth_license_slots_in_use",
    type: "gauge",
    help: "Slots of a license that are held now, borrowed ones included.",
    labels: LICENSE_LABELS,
  },
  licenseSlotsBorrowed: {
    name: "berth_license_slots_borrowed",
    type: "gauge",
    help: "Slots of a license that are borrowed now.",
    labels: LICENSE_LABELS,
  },
  licenseSlotsPeak: {
    name: "berth_license_slots_peak",
    type: "gauge",
    help: "Most slots of a license that were in use at once in the last five minutes.",
    labels: LICENSE_LABELS,
  },
  licenseValid: {
    name: "berth_license_valid",
    type: "gauge",
    help: "1 if a license grants slots and consumption now, 0 if it refuses.",
    labels: LICENSE_LABELS,
  },
  licenseEnd: {
    name: "berth_license_end_timestamp_seconds",
    type: "gauge",
    unit: "seconds",
    help: "When a license ends, with its grace period. Absent for a license without an end.",
    labels: LICENSE_LABELS,
  },
  licenseConsumption: {
    name: "berth_license_consumption",
    type: "gauge",
    help: "Consumption of a license in its current period.",
    labels: LICENSE_LABELS,
  },
  licenseConsumptionLimit: {
    name: "berth_license_consumption_limit",
    type: "gauge",
    help: "Maximum consumption of a license, without overages. Absent without a limit.",
    labels: LICENSE_LABELS,
  },
  licenseGrants: {
    name: "berth_license_grants",
    type: "counter",
    help: "Slots of a license that were taken. Heartbeats are not counted.",
    labels: LICENSE_LABELS,
  },
  licenseReleases: {
    name: "berth_license_releases",
    type: "counter",
    help: "Slots of a license that ended, by cause: user, admin or expiry.",
    labels: [...LICENSE_LABELS, "cause"],
  },

  featureSlots: {
    name: "berth_feature_slots",
    type: "gauge",
    help: "Slots of a floating feature, over all licenses of the product.",
    labels: FEATURE_LABELS,
  },
  featureSlotsInUse: {
    name: "berth_feature_slots_in_use",
    type: "gauge",
    help: "Slots of a floating feature that are held now.",
    labels: FEATURE_LABELS,
  },
  featureSlotsPeak: {
    name: "berth_feature_slots_peak",
    type: "gauge",
    help: "Most slots of a floating feature that were in use at once in the last five minutes.",
    labels: FEATURE_LABELS,
  },
  featureGrants: {
    name: "berth_feature_grants",
    type: "counter",
    help: "Slots of a floating feature that were taken.",
    labels: FEATURE_LABELS,
  },
  featureConsumption: {
    name: "berth_feature_consumption",
    type: "gauge",
    help: "Consumption of a feature in its current period.",
    labels: FEATURE_LABELS,
  },
  featureConsumptionLimit: {
    name: "berth_feature_consumption_limit",
    type: "gauge",
    help: "Maximum consumption of a feature, without overages. Absent without a limit.",
    labels: FEATURE_LABELS,
  },
  featureReleases: {
    name: "berth_feature_releases",
    type: "counter",
    help: "Slots of floating features of a product that ended, by cause: user, admin or expiry.",
    labels: ["product", "cause"],
  },

  refusals: {
    name: "berth_refusals",
    type: "counter",
    help: "Refused requests of applications by code; scope: product or feature.",
    labels: ["product", "scope", "code"],
  },

  deniedEpisodes: {
    name: "berth_denied_episodes",
    type: "counter",
    help: "Denied episodes of a product that began: needs for a slot that were not met at once.",
    labels: ["product"],
  },
  deniedEpisodesEnded: {
    name: "berth_denied_episodes_ended",
    type: "counter",
    help: "Denied episodes of a product that ended, by outcome: granted, gave_up or left.",
    labels: ["product", "outcome"],
  },
  featureDeniedEpisodes: {
    name: "berth_feature_denied_episodes",
    type: "counter",
    help: "Denied episodes of a floating feature that began.",
    labels: FEATURE_LABELS,
  },

  slotsReservedIdle: {
    name: "berth_slots_reserved_idle",
    type: "gauge",
    help: "Free slots of a product that rules keep for groups which do not use them now.",
    labels: ["product"],
  },
  queueWaiting: {
    name: "berth_queue_waiting",
    type: "gauge",
    help: "Users who wait for a slot of a product now, without those for whom one is held.",
    labels: ["product"],
  },
  queueHeld: {
    name: "berth_queue_held",
    type: "gauge",
    help: "Free slots of a product that are held for users who have not collected them yet.",
    labels: ["product"],
  },
  queueWaits: {
    name: "berth_queue_wait_duration_seconds",
    type: "histogram",
    unit: "seconds",
    help: "How long users waited for a slot of a product until they got one.",
    labels: ["product"],
  },
  queuePlacesLeft: {
    name: "berth_queue_places_left",
    type: "counter",
    help:
      "Users of a product who left the queue without a slot, by cause: unregistered, lapsed " +
      "(no contact in time), dropped (by an administrator) or refused (by rules or licenses).",
    labels: ["product", "cause"],
  },

  ...SERVER_METRICS,
  ...PAIR_METRICS,
} as const satisfies Readonly<Record<string, Metric>>;
