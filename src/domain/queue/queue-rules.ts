import type { Fault } from "../fault.ts";
import { DEFAULT_QUEUE_RULES, type CallerFacts, type QueueRules } from "../rules/rule-set.ts";
import type { State } from "../state.ts";
import type { Instant } from "../time.ts";
import type { Departure, Place, Standing } from "./place.ts";
import type { BlockingLimit } from "./waiting-lists.ts";

/** The rules for the queue of a product; the defaults, if the site has none. */
export function findQueueRules(_state: State, _product: string): QueueRules {
  return DEFAULT_QUEUE_RULES;
}

/** What follows from the rules and the licenses for a place. */
export function computeStanding(
  state: State,
  product: string,
  place: Pick<Place, "user" | "licenseId" | "facts" | "order">,
): Standing {
  return {
    home: null,
    rank: place.order <= 0 ? -1 : 0,
    departure: findDeparture(state, product, place),
  };
}

function findDeparture(
  state: State,
  product: string,
  { licenseId }: Pick<Place, "licenseId">,
): Departure | null {
  const licenses = state.products.get(product) ?? [];
  const isGone =
    licenseId === null ? licenses.length === 0 : !licenses.some(({ id }) => id === licenseId);
  return isGone ? "license_gone" : null;
}

/** The refusal of a user whom the rules allow no slot of the product; null: they do. */
export function checkAdmission(_state: State, _product: string, _facts: CallerFacts): Fault | null {
  return null;
}

/** The limit of the rules that allows this user no slot now; null: none. */
export function findBlockingRule(
  _state: State,
  _product: string,
  _place: Place,
  _at: Instant,
): BlockingLimit | null {
  return null;
}

/** Whether a user of this home may have one of the free slots of the product: reservations. */
export function hasRoom(
  _state: State,
  _product: string,
  _home: string | null,
  free: number,
  _at: Instant,
): boolean {
  return free > 0;
}

/** The reserved groups that use fewer slots than are reserved for them. */
export function listHomesWithIdleSlots(
  _state: State,
  _product: string,
  _at: Instant,
): ReadonlySet<string> {
  return new Set();
}

/** The keys of the limits whose counters fell since the last call. */
export function takeFallenLimits(_state: State, _product: string, _at: Instant): readonly string[] {
  return [];
}

/** The first group of `priority` that the user belongs to; null: none. */
export function findPriorityGroup(_state: State, _product: string, _place: Place): string | null {
  return null;
}
