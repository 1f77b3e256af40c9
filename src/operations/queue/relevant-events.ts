import type { Event } from "../../domain/model/event.ts";
import type { State } from "../../domain/model/state.ts";

/** After these events no user can get a slot that it could not get before. */
const IRRELEVANT_EVENTS: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "ContactChanged",
  "FeatureTaken",
  "FeatureRenewed",
  "FeatureReleased",
  "FeatureExpired",
  "ConsumptionAdded",
  "FeatureConsumptionAdded",
  "ClockMarked",
  "RefusalsCounted",
  "EpisodesObserved",
  "EpisodeEnded",
]);

/** Whether a waiting user may get a slot after this event that it could not get before. */
export const canFreeSlot = (event: Event): boolean =>
  event.type === "SlotRenewed"
    ? // A holder at another address leaves the cap of the address before.
      event.contact !== undefined
    : !IRRELEVANT_EVENTS.has(event.type);

/** Whether the event is about a place in a queue. */
export const isPlaceEvent = ({ type }: Event): boolean =>
  type === "PlaceTaken" ||
  type === "PlaceLeft" ||
  type === "PlaceMoved" ||
  type === "HoldGiven" ||
  type === "HoldWithdrawn";

/** The products with places whose free slots the event may change. */
export function listProducts(event: Event, { queues, licenses }: State): string[] {
  const product =
    "product" in event && typeof event.product === "string"
      ? event.product
      : "license" in event
        ? licenses.get(event.license)?.terms.product
        : undefined;
  if (product !== undefined) return queues.get(product) === undefined ? [] : [product];
  return [...queues].map((queue) => queue.product);
}
