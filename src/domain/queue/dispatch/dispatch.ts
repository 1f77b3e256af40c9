import { makeDecision, type Decision } from "../../model/decision.ts";
import type { Event } from "../../model/event.ts";
import type { Result } from "../../result.ts";
import { countIdleSlots, hasRoomFor } from "../../rules/judge-claim.ts";
import type { RuleContext } from "../../model/rule-context.ts";
import { countFreeSlots, listGrantingLicenses } from "../../slots/free-slots.ts";
import type { License, State } from "../../model/state.ts";
import { findBlockingCap } from "./blocking-caps.ts";
import type { QueuedPlace } from "../../model/queue/place.ts";
import type { Queue } from "../../model/queue/queue.ts";
import { findBlockingRule, takeFallenLimits, watchLimit } from "../queue-rules.ts";
import { compareByService, type Lane } from "../../model/queue/waiting-lists.ts";

/**
 * Serves the queue of a product by one change: a place ends, or a hold is withdrawn, or a hold is
 * given. It is repeated until nothing changes. Then a free slot is one that no waiting user may
 * have, so no claim can overtake.
 */
export interface Dispatch {
  readonly type: "Dispatch";
  readonly product: string;
  /** Users without contact for too long; the last contact is not saved, so the caller knows it. */
  readonly lapsed: readonly string[];
}

export interface QueueChange {
  /** `parked`: nothing is recorded; limits block many users, and more are to be looked at. */
  readonly kind: "lapsed" | "denied" | "license_gone" | "withdrawn" | "held" | "parked";
  readonly user: string;
  /** The license of the hold; null: the change is not about a hold. */
  readonly license: number | null;
}

export interface DispatchOutcome {
  /** Null: nothing is left to do. */
  readonly change: QueueChange | null;
}

/** So many users are parked in a millisecond; other requests must not wait for all of them. */
const PARKS_PER_COMMAND = 64;

const NOTHING_TO_DO: DispatchOutcome = { change: null };

export function decideDispatch(
  state: State,
  { product, lapsed }: Dispatch,
  context: RuleContext,
): Result<Decision<DispatchOutcome>, never> {
  const queue = state.queues.get(product);
  if (queue === undefined) return makeDecision([], NOTHING_TO_DO);
  const { at } = context;
  const ended = findEndedPlace(queue, lapsed);
  if (ended !== null) {
    const { user, number: place } = ended.place;
    const event: Event = { type: "PlaceLeft", at, product, user, place, cause: ended.cause };
    return makeDecision([event], { change: { kind: ended.cause, user, license: null } });
  }
  const granting = listGrantingLicenses(state, product, context);
  const overheld = findOverheld(state, queue, granting, context);
  if (overheld !== null) {
    const { license, place } = overheld;
    const fields = { at, product, user: place.user, place: place.number, license };
    const change = { kind: "withdrawn", user: place.user, license } as const;
    return makeDecision([{ type: "HoldWithdrawn", ...fields }], { change });
  }
  const grant = findNextGrant(state, queue, granting, context);
  if (grant === null) return makeDecision([], NOTHING_TO_DO);
  const { user, number: place } = grant.place;
  const { license } = grant;
  if (license === null) return makeDecision([], { change: { kind: "parked", user, license } });
  const event: Event = { type: "HoldGiven", at, product, user, place, license };
  return makeDecision([event], { change: { kind: "held", user, license } });
}

function findEndedPlace(queue: Queue, lapsed: readonly string[]) {
  for (const user of lapsed) {
    const place = queue.get(user);
    if (place !== undefined) return { place, cause: "lapsed" as const };
  }
  const place = queue.departing;
  return place === null || place.departure === null ? null : { place, cause: place.departure };
}

/** The newest hold of a license that has fewer slots than holds need, or grants nothing now. */
function findOverheld(
  state: State,
  queue: Queue,
  granting: readonly License[],
  context: RuleContext,
): { readonly license: number; readonly place: QueuedPlace } | null {
  for (const id of queue.heldLicenses) {
    const license = granting.find((other) => other.id === id);
    if (license !== undefined && countFreeSlots(state, license, null, context) >= 0) continue;
    const place = queue.newestHold(id);
    if (place !== null) return { license: id, place };
  }
  return null;
}

interface Candidate {
  readonly lane: Lane;
  /** A slot that is reserved for the group of these users is idle. */
  readonly isAtHome: boolean;
  readonly license: number;
}

/** The next user to get a slot, and its license; null instead of it: many users were parked. */
function findNextGrant(
  state: State,
  queue: Queue,
  granting: readonly License[],
  context: RuleContext,
): { readonly license: number | null; readonly place: QueuedPlace } | null {
  const { at, slotCaps } = context;
  const free = granting
    .map((license) => ({ id: license.id, slots: countFreeSlots(state, license, null, context) }))
    .filter(({ slots }) => slots > 0);
  if (free.length === 0) return null;
  queue.refresh(at, slotCaps);
  for (const key of takeFallenLimits(state, queue.product, at)) queue.open(key);
  const total = free.reduce((sum, { slots }) => sum + slots, 0);
  const pool = { product: queue.product, feature: null };
  const candidates: Candidate[] = [];
  for (const lane of queue.lanes) {
    const { licenseId, home } = lane;
    const license = free.find(({ id }) => licenseId === null || id === licenseId);
    if (license === undefined || !hasRoomFor(state, pool, home, total, at)) continue;
    const isAtHome = home !== null && countIdleSlots(state, pool, home, at) > 0;
    candidates.push({ lane, isAtHome, license: license.id });
  }
  for (let parked = 1; ; parked += 1) {
    const next = findFirst(candidates);
    if (next === null) return null;
    const { place, license } = next;
    const limit =
      findBlockingRule(state, queue.product, place, at) ?? findBlockingCap(state, place, context);
    if (limit === null) return { license, place };
    queue.park(place, limit);
    if (limit.isRule) watchLimit(state, queue.product, limit.key);
    if (parked === PARKS_PER_COMMAND) return { license: null, place };
  }
}

/** The place that is served first of these lanes. */
function findFirst(candidates: readonly Candidate[]) {
  let best: { readonly candidate: Candidate; readonly place: QueuedPlace } | null = null;
  for (const candidate of candidates) {
    const place = candidate.lane.first;
    if (place === null) continue;
    if (best === null || isBefore(candidate, place, best.candidate, best.place))
      best = { candidate, place };
  }
  return best === null ? null : { place: best.place, license: best.candidate.license };
}

const isBefore = (a: Candidate, placeA: QueuedPlace, b: Candidate, placeB: QueuedPlace): boolean =>
  a.isAtHome === b.isAtHome ? compareByService(placeA, placeB) < 0 : a.isAtHome;
