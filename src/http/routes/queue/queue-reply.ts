import type { Result } from "../../../domain/result.ts";
import type { AnyFault } from "../../../faults/fault-types.ts";
import type { QueueConversion } from "../../../operations/queue/queue-list.ts";
import type { OwnPlace, WaitingPlace } from "../../../operations/queue/queue-views.ts";
import { unwrap } from "../../faults.ts";
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

type ProductQueueReply = QueueReply["products"][number];

/** A piece of the JSON text of `QueueReply`. */
interface QueueText {
  readonly isQueue: boolean;
  readonly text: string;
}

export const QUEUE_TEXTS: QueueConversion<QueueText> = {
  queue({ product, waitingCount, heldCount, holdSeconds }) {
    const reply: ProductQueueReply = {
      product,
      waiting: waitingCount,
      held: heldCount,
      hold_seconds: holdSeconds,
      places: [],
    };
    return { isQueue: true, text: JSON.stringify(reply).slice(0, -END_OF_QUEUE.length) };
  },
  place: (place) => ({ isQueue: false, text: JSON.stringify(placeReply(place)) }),
};

const END_OF_QUEUE = "]}";

/** The text of `QueueReply`, whose pieces come in steps. */
export async function* joinToQueueReply<F extends AnyFault>(
  steps: AsyncIterable<Result<readonly QueueText[], F>>,
): AsyncGenerator<string, void> {
  let text = '{"products":[';
  let last: QueueText | null = null;
  for await (const step of steps) {
    for (const piece of unwrap(step)) {
      if (piece.isQueue && last !== null) text += END_OF_QUEUE;
      if (last?.isQueue === false || (piece.isQueue && last !== null)) text += ",";
      text += piece.text;
      last = piece;
    }
    yield text;
    text = "";
  }
  yield `${last === null ? "" : END_OF_QUEUE}]}`;
}

const placeReply = (place: WaitingPlace): ProductQueueReply["places"][number] => ({
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
});

export const queueStatusReply = ({ changes, products }: QueueSummary): StatusReply["queue"] => ({
  changes,
  products: products.map(({ product, waitingCount, heldCount }) => ({
    product,
    waiting: waitingCount,
    held: heldCount,
  })),
});
