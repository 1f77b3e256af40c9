import { areIdleSlotsKept, countIdleSlots, countKeptSlots } from "../rules/judge-claim.ts";
import type { RuleContext } from "../rule-context.ts";
import { countFreeOfProduct } from "../slots/free-slots.ts";
import type { State } from "../state.ts";
import type { QueuedPlace } from "./place.ts";
import type { Queue } from "./queue.ts";

/** Where a place is among those without a hold. */
export interface Position {
  /** 1: the next user to get a slot. */
  readonly position: number;
  /** So many slots must come free until the user gets one, as far as is known now. */
  readonly slotsToFree: number;
}

/** What waiting members can get of the idle slots that are reserved for their group. */
interface IdleHome {
  readonly home: string;
  /** So many of its first members are served before all others. */
  readonly members: number;
  /** Others must leave these slots free. */
  readonly isKept: boolean;
}

/**
 * The places without a hold in the order of service: members of groups with idle reserved slots,
 * as many as there are such slots, then all others; both by priority and arrival.
 */
export function listByService(
  state: State,
  queue: Queue,
  context: RuleContext,
): readonly (Position & { readonly place: QueuedPlace })[] {
  const homes = listIdleHomes(state, queue, context);
  const keptSlots = countKeptFromOthers(state, queue, homes, context);
  const idle = new Map(homes.map(({ home, members }) => [home, members]));
  const first: QueuedPlace[] = [];
  const others: QueuedPlace[] = [];
  for (const place of queue.line) {
    const left = place.home === null ? 0 : (idle.get(place.home) ?? 0);
    if (place.home !== null && left > 0) idle.set(place.home, left - 1);
    (left > 0 ? first : others).push(place);
  }
  return [...first, ...others].map((place, index) => {
    const position = index + 1;
    return { place, position, slotsToFree: position + (index < first.length ? 0 : keptSlots) };
  });
}

/** The position of one place, as in `listByService`, without a walk over the queue. */
export function findPosition(
  state: State,
  queue: Queue,
  place: QueuedPlace,
  context: RuleContext,
): Position {
  const homes = listIdleHomes(state, queue, context);
  let firstBefore = 0;
  let firstAfter = 0;
  let isFirst = false;
  for (const { home, members } of homes) {
    const before = Math.min(members, queue.countOfHomeBefore(home, place));
    firstBefore += before;
    firstAfter += members - before;
    if (home === place.home) isFirst = before < members;
  }
  if (isFirst) return { position: firstBefore + 1, slotsToFree: firstBefore + 1 };
  const position = queue.countBefore(place) + firstAfter + 1;
  const keptSlots = countKeptFromOthers(state, queue, homes, context);
  return { position, slotsToFree: position + keptSlots };
}

function listIdleHomes(state: State, queue: Queue, { at }: RuleContext): readonly IdleHome[] {
  const pool = { product: queue.product, feature: null };
  const homes: IdleHome[] = [];
  for (const home of queue.homes) {
    const members = Math.min(countIdleSlots(state, pool, home, at), queue.countOfHome(home));
    if (members > 0) homes.push({ home, members, isKept: areIdleSlotsKept(state, pool, home, at) });
  }
  return homes;
}

/** Slots that must come free, besides those of the places before, until others get one. */
function countKeptFromOthers(
  state: State,
  { product }: Queue,
  homes: readonly IdleHome[],
  context: RuleContext,
): number {
  const keptSlots = countKeptSlots(state, { product, feature: null }, context.at);
  if (keptSlots === 0) return 0;
  // Waiting members use up what is kept for them.
  const usedByMembers = homes.reduce((sum, { members, isKept }) => sum + (isKept ? members : 0), 0);
  return Math.max(0, keptSlots - usedByMembers - countFreeOfProduct(state, product, context));
}
