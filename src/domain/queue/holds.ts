import type { Event } from "../model/event.ts";
import type { License, State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import type { QueuedPlace } from "../model/queue/place.ts";
import type { PlaceLeftCause } from "../model/queue/queue-event-types.ts";

/** Free slots of a license that are kept for users who have not collected them yet. */
export const countHolds = ({ queues }: Pick<State, "queues">, { id, terms }: License): number =>
  queues.size === 0 ? 0 : (queues.get(terms.product)?.countHolds(id) ?? 0);

/** The user's place in the queue of a product; null: the user does not wait. */
export const findPlace = (
  { queues }: Pick<State, "queues">,
  product: string,
  user: string,
): QueuedPlace | null => (queues.size === 0 ? null : (queues.get(product)?.get(user) ?? null));

/** The user's place, if a slot is held for it; null: none is. */
export function findHold(state: State, product: string, user: string): QueuedPlace | null {
  const place = findPlace(state, product, user);
  return place?.hold == null ? null : place;
}

/** The end of the user's place, in the same line as the reason for it. */
export function leaveQueue(
  state: State,
  product: string,
  user: string,
  cause: PlaceLeftCause,
  at: Instant,
  peer: string,
): Event[] {
  const place = findPlace(state, product, user);
  return place === null
    ? []
    : [{ type: "PlaceLeft", at, product, user, place: place.number, cause, peer }];
}
