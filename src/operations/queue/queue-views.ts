import { findQueueRules } from "../../domain/queue/queue-rules.ts";
import type { ServedPlace } from "../../domain/queue/dispatch/service-order.ts";
import {
  viewListedPlace,
  viewPlace,
  type PlaceView,
  type QueueView,
} from "../../domain/views/queue-view.ts";
import type { RuleContext } from "../../domain/model/rule-context.ts";
import type { State } from "../../domain/model/state.ts";
import { later, SECOND, type Instant } from "../../domain/time.ts";
import type { GrantEstimate, GrantEstimator } from "./grant-estimator.ts";
import type { QueueDispatcher } from "./queue-dispatcher.ts";

export type Estimator = Pick<GrantEstimator, "estimate">;

/** The place of a caller whose request was refused. */
export interface OwnPlace {
  /** 0: a slot is held for the user. */
  readonly position: number;
  /** How many users wait for the product. */
  readonly length: number;
  readonly eta: GrantEstimate | null;
  /** When the place ends without another request. */
  readonly end: Instant;
  readonly holdSeconds: number;
}

/** A place with what is known of its user's requests. */
export interface WaitingPlace extends PlaceView {
  readonly isConnected: boolean;
  readonly eta: GrantEstimate | null;
  /** When the place ends without another request; null: a request is waiting. */
  readonly end: Instant | null;
}

/** A queue without its places. */
export type WaitingQueue = Omit<QueueView, "places">;

/** Null: the user does not wait. The user is in contact now. */
export function viewOwnPlace(
  state: State,
  product: string,
  user: string,
  context: RuleContext,
  estimator: Estimator,
): OwnPlace | null {
  const found = viewPlace(state, product, user, context);
  if (found === null) return null;
  const { place, length } = found;
  const { holdSeconds } = findQueueRules(state, product);
  const { at } = context;
  const eta = estimate(estimator, state, place, at);
  return {
    position: place.position,
    length,
    eta,
    end: later(at, holdSeconds * SECOND),
    holdSeconds,
  };
}

/** Null: the place has ended since it was listed. */
export function viewWaitingPlace(
  state: State,
  product: string,
  listed: ServedPlace,
  context: RuleContext,
  estimator: Estimator,
  dispatcher: Pick<QueueDispatcher, "requests" | "findPlaceEnd">,
): WaitingPlace | null {
  const place = viewListedPlace(state, product, listed, context);
  if (place === null) return null;
  const { at } = context;
  return {
    ...place,
    isConnected: dispatcher.requests.isConnected(product, place.user),
    eta: estimate(estimator, state, place, at),
    end: dispatcher.findPlaceEnd(state, product, place.user, at),
  };
}

/** A free slot does not help a user whom a limit blocks, so there is no estimate. */
const estimate = (
  estimator: Estimator,
  state: State,
  { product, slotsToFree, state: placeState }: PlaceView,
  at: Instant,
): GrantEstimate | null =>
  placeState === "waiting" ? estimator.estimate(state, product, slotsToFree, at) : null;
