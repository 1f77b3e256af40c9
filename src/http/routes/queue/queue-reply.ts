import type { OwnPlace, WaitingQueue } from "../../../operations/queue/queue-views.ts";
import type { GrantEstimate } from "../../../operations/queue/grant-estimator.ts";
import type { QueueSummary } from "../../../operations/queue/slot-queue.ts";
import { describeLimit } from "../../../faults/sharing-texts.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import type { QueuePlaceReply, QueueReply } from "./queue-schemas.ts";
import type { StatusReply } from "../health/status-schema.ts";

const estimateReply = (estimate: GrantEstimate | null): QueuePlaceReply["eta"] =>
  estimate && { p50: rfc3339(estimate.p50), p90: rfc3339(estimate.p90) };

/** What a refusal says of the caller's place. */
export const queuePlaceReply = ({ position, length, eta, end }: OwnPlace): QueuePlaceReply => ({
  position,
  length,
  eta: estimateReply(eta),
  expires_at: rfc3339(end),
});

export const queueReply = (products: readonly WaitingQueue[]): QueueReply => ({
  products: products.map(({ product, waitingCount, heldCount, holdSeconds, places }) => ({
    product,
    waiting: waitingCount,
    held: heldCount,
    hold_seconds: holdSeconds,
    places: places.map((place) => ({
      user: place.user,
      position: place.position,
      state: place.state,
      priority: place.priority,
      home: place.home,
      license_id: place.hold?.license ?? place.licenseId,
      since: rfc3339(place.since),
      expires_at: rfc3339OrNull(place.end),
      connected: place.isConnected,
      eta: estimateReply(place.eta),
      limit: place.limit && describeLimit(place.limit),
    })),
  })),
});

export const queueStatusReply = ({ changes, products }: QueueSummary): StatusReply["queue"] => ({
  changes,
  products: products.map(({ product, waitingCount, heldCount }) => ({
    product,
    waiting: waitingCount,
    held: heldCount,
  })),
});
