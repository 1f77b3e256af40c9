import { factsOfPlace, type Place } from "../model/queue/place.ts";
import type {
  HoldGiven,
  HoldWithdrawn,
  PlaceLeft,
  PlaceMoved,
  PlaceTaken,
} from "../model/queue/queue-event-types.ts";
import { computeStanding } from "../queue/queue-rules.ts";
import type { Instant } from "../time.ts";
import { beginEpisode, endEpisode } from "./evolve-demand.ts";
import { endRecall } from "./evolve-rules.ts";
import type { MutableState } from "./mutable-state.ts";

export function takePlace(state: MutableState, event: PlaceTaken): void {
  const { product, user, place: number, licenseId, facts, peer, at } = event;
  state.nextSlot = Math.max(state.nextSlot, number + 1);
  const known = state.queues.get(product)?.get(user);
  const order = known?.order ?? number;
  const changes = { licenseId, facts, peer };
  const standing = computeStanding(state, product, { user, order, ...changes });
  if (known !== undefined) {
    state.queues.update(product, user, { ...changes, ...standing });
    return;
  }
  const place = { number, user, ...changes, since: at, order, hold: null };
  state.queues.add(product, place, standing);
  beginEpisode(state, event);
}

/** A place of a saved state, after its rules and licenses. */
export function loadPlace(state: MutableState, product: string, place: Place): void {
  state.queues.add(product, place, computeStanding(state, product, place));
  if (place.hold !== null) countHold(state, product, place, place.hold.license);
}

/** A hold counts for limits and reservations, as a slot does. */
function countHold(
  { rulesIndex }: MutableState,
  product: string,
  place: Place,
  license: number,
): void {
  rulesIndex.addHold(place.number, { product, license, facts: factsOfPlace(place) });
}

export function leavePlace(state: MutableState, event: PlaceLeft): void {
  const { product, user } = event;
  const place = state.queues.get(product)?.get(user);
  if (place?.hold != null) state.rulesIndex.removeHold(place.number);
  state.queues.remove(product, user);
  endEpisode(state, event);
}

export function giveHold(state: MutableState, { product, user, license, at }: HoldGiven): void {
  state.queues.update(product, user, { hold: { license, at } });
  const place = state.queues.get(product)?.get(user);
  if (place === undefined) return;
  countHold(state, product, place, license);
  // The slot is the member's, collected or not: the other idle slots can be lent again.
  if (place.home !== null) endRecall(state, product, null, place.home);
}

export function withdrawHold(state: MutableState, event: HoldWithdrawn): void {
  const { product, user, place } = event;
  state.queues.update(product, user, { hold: null });
  state.rulesIndex.removeHold(place);
}

export function movePlace(state: MutableState, { product, user, order }: PlaceMoved): void {
  state.queues.update(product, user, { order, rank: -1 });
}

/** The users whose slots of a removed license were held wait again. */
export function withdrawHoldsOf(state: MutableState, product: string, license: number): void {
  const queue = state.queues.get(product);
  for (let place = queue?.newestHold(license); place != null; place = queue?.newestHold(license)) {
    state.queues.update(product, place.user, { hold: null });
    state.rulesIndex.removeHold(place.number);
  }
}

/** Rules or licenses changed: computes what follows from them for every place of a product. */
export function rebuildQueue(state: MutableState, product: string): void {
  state.queues.get(product)?.rebuild((place) => computeStanding(state, product, place), keep);
}

export function rebuildQueues(state: MutableState, move: (at: Instant) => Instant = keep): void {
  for (const queue of state.queues)
    queue.rebuild((place) => computeStanding(state, queue.product, place), move);
}

const keep = (at: Instant): Instant => at;
