import { NO_DETAILS, type EventRows } from "../model/event-row.ts";
import { formatTimestampOrNull } from "../model/event-texts.ts";

/** What the audit log says of consumption. */
export const CONSUMPTION_EVENTS: EventRows<
  "ConsumptionAdded" | "FeatureConsumptionAdded" | "KeyRemembered"
> = {
  ConsumptionAdded: {
    kind: "consumption",
    isAudited: true,
    grants: "new",
    summary: ({ count, total }) => describeCount(count, total, ""),
    details: ({ count, total, resetAt }) => ({
      consumptions: count,
      total_consumptions: total,
      resets_at: formatTimestampOrNull(resetAt),
    }),
  },
  FeatureConsumptionAdded: {
    kind: "consumption",
    isAudited: true,
    grants: "new",
    summary: ({ count, total, feature }) => describeCount(count, total, ` of feature ${feature}`),
    details: ({ feature, count, total, resetAt }) => ({
      feature,
      consumptions: count,
      total_consumptions: total,
      resets_at: formatTimestampOrNull(resetAt),
    }),
  },
  KeyRemembered: {
    kind: "consumption",
    isAudited: true,
    summary: () => "outcome recorded for an idempotency key",
    // The stored key is a hash of the call, which has no meaning for a reader.
    details: () => NO_DETAILS,
  },
};

const describeCount = (count: number, total: number, suffix: string): string =>
  count < 0
    ? `${-count}${suffix} returned, ${total} in total`
    : `${count}${suffix} consumed, ${total} in total`;
