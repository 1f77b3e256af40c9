import type { CappedFault } from "../model/fault.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { getLicenseEnd } from "../model/licenses/terms.ts";
import type { State } from "../model/state.ts";
import { earliest, type Instant } from "../time.ts";
import { findBlockingCap } from "../queue/dispatch/blocking-caps.ts";
import type { Place, QueuedPlace } from "../model/queue/place.ts";
import { findBlockingRule, findPriorityGroup, findQueueRules } from "../queue/queue-rules.ts";
import type { Queue } from "../model/queue/queue.ts";
import {
  findPosition,
  listByService,
  type Position,
  type ServedPlace,
} from "../queue/dispatch/service-order.ts";

/** A place as operators and waiting users see it. With a hold, its position is 0. */
export interface PlaceView extends Place, Position {
  readonly product: string;
  /** `limited`: a limit allows the user no slot now, also if one is free. */
  readonly state: "waiting" | "held" | "limited";
  /** The group of `priority` that the user belongs to; null: none. */
  readonly priority: string | null;
  readonly home: string | null;
  /** The refusal by the limit; null: the place is not limited. */
  readonly limit: CappedFault | null;
}

export interface QueueView {
  readonly product: string;
  readonly waitingCount: number;
  readonly heldCount: number;
  readonly holdSeconds: number;
  /** Users with a held slot first, then in the order of service. */
  readonly places: readonly PlaceView[];
}

/** How many users wait, and where one of them is among them. */
export interface PlaceInQueue {
  readonly place: PlaceView;
  /** Users who wait without a held slot. */
  readonly length: number;
}

const HELD: Position = { position: 0, slotsToFree: 0 };

/** Null: the product has no places. */
export function viewQueue(state: State, product: string, context: RuleContext): QueueView | null {
  const queue = state.queues.get(product);
  if (queue === undefined) return null;
  return {
    ...summarizeQueue(state, queue),
    places: listPlaces(state, queue, context).map((entry) =>
      makePlaceView(state, product, entry.place, entry, context),
    ),
  };
}

export const summarizeQueue = (state: State, queue: Queue): Omit<QueueView, "places"> => ({
  product: queue.product,
  waitingCount: queue.waitingCount,
  heldCount: queue.heldCount,
  holdSeconds: findQueueRules(state, queue.product).holdSeconds,
});

/** Users with a held slot first, then in the order of service. */
export function listPlaces(state: State, queue: Queue, context: RuleContext): ServedPlace[] {
  const places: ServedPlace[] = [];
  for (const place of queue.places) if (place.hold !== null) places.push({ place, ...HELD });
  return [...places, ...listByService(state, queue, context)];
}

/** A listed place as it is now, at the position that it was listed with; null: it has ended. */
export function viewListedPlace(
  state: State,
  product: string,
  listed: ServedPlace,
  context: RuleContext,
): PlaceView | null {
  const queue = state.queues.get(product);
  const place = queue?.get(listed.place.user);
  if (queue === undefined || place?.number !== listed.place.number) return null;
  const position =
    place.hold !== null
      ? HELD
      : listed.position === HELD.position
        ? findPosition(state, queue, place, context)
        : listed;
  return makePlaceView(state, product, place, position, context);
}

/** The place of one user, without a walk over the queue; null: the user does not wait. */
export function viewPlace(
  state: State,
  product: string,
  user: string,
  context: RuleContext,
): PlaceInQueue | null {
  const queue = state.queues.get(product);
  const place = queue?.get(user);
  if (queue === undefined || place === undefined) return null;
  const position = place.hold === null ? findPosition(state, queue, place, context) : HELD;
  const view = makePlaceView(state, product, place, position, context);
  return { place: view, length: queue.waitingCount };
}

function makePlaceView(
  state: State,
  product: string,
  place: QueuedPlace,
  { position, slotsToFree }: Position,
  context: RuleContext,
): PlaceView {
  const limit =
    place.hold === null
      ? (findBlockingRule(state, product, place, context.at) ??
        findBlockingCap(state, place, context))
      : null;
  const { number, user, licenseId, facts, peer, since, order, hold, home } = place;
  return {
    number,
    user,
    licenseId,
    facts,
    peer,
    since,
    order,
    hold,
    home,
    product,
    position,
    slotsToFree,
    state: hold !== null ? "held" : limit !== null ? "limited" : "waiting",
    priority: findPriorityGroup(state, product, place),
    limit: limit?.fault ?? null,
  };
}

/**
 * When the queue of a product may change without a command: a slot ends, a license begins or ends,
 * a reservation lends again, or a limit may allow more. Null: never, as far as is known now.
 */
export function findNextDispatchAt(
  state: State,
  product: string,
  context: Pick<RuleContext, "at">,
): Instant | null {
  const queue: Pick<Queue, "nextWakeAt"> | undefined = state.queues.get(product);
  if (queue === undefined) return null;
  const { at } = context;
  let next: Instant | null = null;
  const consider = (instant: Instant | null): void => {
    if (instant !== null && instant > at) next = next === null ? instant : earliest(next, instant);
  };
  consider(queue.nextWakeAt);
  for (const recall of state.recalls.values())
    if (recall.product === product) consider(recall.until);
  for (const { terms, pool } of state.products.get(product) ?? []) {
    consider(terms.start);
    consider(getLicenseEnd(terms));
    consider(pool.expiryIndex.nthEnd(1, at));
  }
  return next;
}
