import {
  areIdleSlotsKept,
  countIdleSlots,
  countKeptFromMembers,
  countKeptSlots,
} from "../../rules/judge-claim.ts";
import type { RuleContext } from "../../model/rule-context.ts";
import { countFreeOfProduct } from "../../slots/free-slots.ts";
import type { State } from "../../model/state.ts";
import type { QueuedPlace } from "../../model/queue/place.ts";
import type { Queue } from "../../model/queue/queue.ts";

/** Where a place is among those without a hold. */
export interface Position {
  /** 1: the next user to get a slot. */
  readonly position: number;
  /** So many slots must come free until the user gets one, as far as is known now. */
  readonly slotsToFree: number;
}

/** A place, and where it is among those without a hold. */
export interface ServedPlace extends Position {
  readonly place: QueuedPlace;
}

/** What waiting members can get of the idle slots that are reserved for their group. */
interface IdleHome {
  readonly home: string;
  /** So many of its first members are served before all others. */
  readonly members: number;
  /** Others must leave these slots free. */
  readonly isKept: boolean;
  /** Free slots that members must leave to groups that keep theirs. */
  readonly keptFromMembers: number;
}

/**
 * The places without a hold in the order of service: members of groups with idle reserved slots,
 * as many as there are such slots, then all others; both by priority and arrival. Members of groups
 * that must leave slots to others come after those of groups that need not.
 */
export function listByService(
  state: State,
  queue: Queue,
  context: RuleContext,
): readonly ServedPlace[] {
  const homes = listIdleHomes(state, queue, context);
  const keptFromOthers = countKeptFromOthers(state, queue, homes, context);
  const keptFromLenders = countKeptFromLenders(state, queue, homes, context);
  const idle = new Map(homes.map((entry) => [entry.home, { ...entry, left: entry.members }]));
  const keeping: QueuedPlace[] = [];
  const lending: QueuedPlace[] = [];
  const others: QueuedPlace[] = [];
  for (const place of queue.line) {
    const entry = place.home === null ? undefined : idle.get(place.home);
    if (entry === undefined || entry.left === 0) others.push(place);
    else {
      entry.left -= 1;
      (entry.keptFromMembers === 0 ? keeping : lending).push(place);
    }
  }
  const inOrder: ServedPlace[] = [];
  const append = (places: readonly QueuedPlace[], keptSlots: number): void => {
    for (const place of places) {
      const position = inOrder.length + 1;
      inOrder.push({ place, position, slotsToFree: position + keptSlots });
    }
  };
  append(keeping, 0);
  append(lending, keptFromLenders);
  append(others, keptFromOthers);
  return inOrder;
}

/** The position of one place, as in `listByService`, without a walk over the queue. */
export function findPosition(
  state: State,
  queue: Queue,
  place: QueuedPlace,
  context: RuleContext,
): Position {
  const homes = listIdleHomes(state, queue, context);
  const counted = homes.map((entry) => ({
    ...entry,
    before: Math.min(entry.members, queue.countOfHomeBefore(entry.home, place)),
  }));
  const ownHome = counted.find(({ home }) => home === place.home);
  if (ownHome === undefined || ownHome.before === ownHome.members) {
    const firstAfter = counted.reduce((sum, { members, before }) => sum + members - before, 0);
    const position = queue.countBefore(place) + firstAfter + 1;
    const keptSlots = countKeptFromOthers(state, queue, homes, context);
    return { position, slotsToFree: position + keptSlots };
  }
  const isLending = ownHome.keptFromMembers > 0;
  let position = 1;
  for (const { members, before, keptFromMembers } of counted) {
    if (keptFromMembers > 0 === isLending) position += before;
    else if (isLending) position += members;
  }
  const keptSlots = isLending ? countKeptFromLenders(state, queue, homes, context) : 0;
  return { position, slotsToFree: position + keptSlots };
}

function listIdleHomes(state: State, queue: Queue, { at }: RuleContext): readonly IdleHome[] {
  const pool = { product: queue.product, feature: null };
  const homes: IdleHome[] = [];
  for (const home of queue.homes) {
    const members = Math.min(countIdleSlots(state, pool, home, at), queue.countOfHome(home));
    if (members === 0) continue;
    const isKept = areIdleSlotsKept(state, pool, home, at);
    const keptFromMembers = countKeptFromMembers(state, pool, home, at);
    homes.push({ home, members, isKept, keptFromMembers });
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
  return Math.max(0, keptSlots - usedByMembers - countFreeOfProduct(state, product, null, context));
}

/** The same for the members of groups that must leave slots to others. */
function countKeptFromLenders(
  state: State,
  { product }: Queue,
  homes: readonly IdleHome[],
  context: RuleContext,
): number {
  const keptSlots = Math.max(0, ...homes.map(({ keptFromMembers }) => keptFromMembers));
  if (keptSlots === 0) return 0;
  const usedByMembers = homes.reduce(
    (sum, { members, keptFromMembers }) => sum + (keptFromMembers === 0 ? members : 0),
    0,
  );
  return Math.max(0, keptSlots - usedByMembers - countFreeOfProduct(state, product, null, context));
}
