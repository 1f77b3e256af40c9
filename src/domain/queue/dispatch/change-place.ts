import { makeDecision, type Decision } from "../../model/decision.ts";
import type { Fault } from "../../model/fault.ts";
import { err, ok, type Result } from "../../result.ts";
import type { RuleContext } from "../../model/rule-context.ts";
import type { State } from "../../model/state.ts";
import type { QueuedPlace } from "../../model/queue/place.ts";

interface ChangePlace {
  readonly product: string;
  readonly user: string;
  readonly peer: string;
}

/** An administrator moves a place before all others; only a group's own idle slots come first. */
export interface MovePlace extends ChangePlace {
  readonly type: "MovePlace";
}

export function decideMovePlace(
  state: State,
  { product, user, peer }: MovePlace,
  { at }: RuleContext,
): Result<Decision<{ readonly place: number }>, Fault> {
  const found = requirePlace(state, product, user);
  if (!found.ok) return found;
  const { number: place, order: currentOrder } = found.value;
  const order = state.queues.get(product)?.frontOrder ?? 0;
  // It is the front place already.
  if (currentOrder === order + 1 && currentOrder <= 0) return makeDecision([], { place });
  return makeDecision([{ type: "PlaceMoved", at, product, user, place, order, peer }], { place });
}

/** An administrator removes a place. The user may take another one, at the end. */
export interface DropPlace extends ChangePlace {
  readonly type: "DropPlace";
}

export function decideDropPlace(
  state: State,
  { product, user, peer }: DropPlace,
  { at }: RuleContext,
): Result<Decision<{ readonly place: number }>, Fault> {
  const found = requirePlace(state, product, user);
  if (!found.ok) return found;
  const { number: place } = found.value;
  const event = { type: "PlaceLeft", at, product, user, place, cause: "dropped", peer } as const;
  return makeDecision([event], { place });
}

function requirePlace(state: State, product: string, user: string): Result<QueuedPlace, Fault> {
  const place = state.queues.get(product)?.get(user);
  if (place !== undefined) return ok(place);
  return err(state.products.has(product) ? { code: "not_waiting" } : { code: "unknown_product" });
}
