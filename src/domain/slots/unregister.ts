import { type LicenseSelector, findLicenses, findMissingFields } from "../licenses/licenses.ts";
import { makeDecision, type Decision } from "../model/decision.ts";
import type { Event, FeatureReleased, ReleasedBy, SlotReleased } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { findPlace, leaveQueue } from "../queue/holds.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { getBorrowEnd, type Registration } from "../model/slots/registration.ts";
import { findHeldSlot } from "../model/slots/pool.ts";
import type { License, State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import { listInSlotOrder } from "./slot-order.ts";

export interface Unregister extends LicenseSelector {
  readonly type: "Unregister";
  readonly user: string | null;
  readonly by: ReleasedBy;
  readonly peer: string;
}

/**
 * Also returns a borrowed slot early, if the license allows it, and leaves the queue. `released`
 * counts slots: it is 0 for a user who only waited.
 */
export function decideUnregister(
  state: State,
  command: Unregister,
  { at }: RuleContext,
): Result<Decision<{ readonly released: number }>, Fault> {
  const { user, by, peer } = command;
  const missing = findMissingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const licenses = findLicenses(state, command);
  if (!licenses.ok) return licenses;

  const events: Event[] = [];
  let count = 0;
  for (const license of licenses.value) {
    const registration = findHeldSlot(license.pool, user, at);
    if (registration === null) continue;
    const until = findLockEnd(license, registration, at);
    if (until !== null) return err({ code: "early_return_not_allowed", until });
    events.push(...makeReleaseEvents(license, registration, by, peer, at));
    count += 1;
  }
  events.push(...leavePlaceOf(state, command, licenses.value, at));
  if (events.length === 0) return err({ code: "user_not_registered" });
  return makeDecision(events, { released: count });
}

/** A user who waits for another license than the selected one goes on waiting. */
function leavePlaceOf(
  state: State,
  { user, licenseId, by, peer }: Unregister,
  licenses: readonly License[],
  at: Instant,
): Event[] {
  const product = licenses[0]?.terms.product;
  if (user === null || product === undefined) return [];
  const place = findPlace(state, product, user);
  const isOther = licenseId !== null && place?.licenseId != null && place.licenseId !== licenseId;
  const cause = by === "admin" ? "dropped" : "unregistered";
  return isOther ? [] : leaveQueue(state, product, user, cause, at, peer);
}

export interface UnregisterAll {
  readonly type: "UnregisterAll";
  /** Null: every product. */
  readonly product: string | null;
  readonly peer: string;
  /** Absent: all slots. */
  readonly range?: ReleaseRange;
}

/** The slots after one slot number and up to another. */
interface ReleaseRange {
  readonly after: number;
  readonly until: number;
  /** Ends after about so many slots and events, because each of them takes time. */
  readonly limit: number;
}

const ALL_SLOTS: ReleaseRange = { after: 0, until: Infinity, limit: Infinity };

export interface ReleasedSlots {
  readonly released: number;
  /** Slots in use that their licenses do not allow to release. */
  readonly remaining: number;
  /** Where to continue; null: the end of the range was reached. */
  readonly next: number | null;
}

/**
 * Releases every slot that may be released; slots whose license forbids an early return stay. The
 * users who wait stay too: they are the ones who get the released slots.
 */
export function decideUnregisterAll(
  state: State,
  { product, peer, range = ALL_SLOTS }: UnregisterAll,
  { at }: RuleContext,
): Result<Decision<ReleasedSlots>, Fault> {
  if (product !== null && !state.products.has(product)) return err({ code: "unknown_product" });
  const licenses = product === null ? state.licenses.values() : (state.products.get(product) ?? []);
  const events: Event[] = [];
  let [released, remaining, passed] = [0, 0, 0];
  for (const { license, registration } of listInSlotOrder(licenses, range.after)) {
    const { slot, end } = registration;
    if (slot > range.until) break;
    passed += 1;
    if (end > at && findLockEnd(license, registration, at) !== null) remaining += 1;
    else if (end > at) {
      events.push(...makeReleaseEvents(license, registration, "admin", peer, at));
      released += 1;
    }
    if (passed + events.length >= range.limit)
      return makeDecision(events, { released, remaining, next: slot });
  }
  return makeDecision(events, { released, remaining, next: null });
}

/** Until when this slot cannot be released; null: it can be released now. */
const findLockEnd = (
  { terms }: License,
  registration: Registration,
  at: Instant,
): Instant | null => (terms.earlyReturn ? null : getBorrowEnd(registration, at));

/** Releasing the license's slot also releases the feature slots that depend on it. */
function makeReleaseEvents(
  license: License,
  registration: Registration,
  by: ReleasedBy,
  peer: string,
  at: Instant,
): Event[] {
  const { user, slot } = registration;
  const features: FeatureReleased[] = [];
  for (const [feature, { pool }] of license.features) {
    const featureSlot = findHeldSlot(pool, user, at);
    if (featureSlot === null) continue;
    const slotFields = { license: license.id, feature, user, slot: featureSlot.slot };
    features.push({ type: "FeatureReleased", at, ...slotFields, by, peer });
  }
  const early = getBorrowEnd(registration, at) !== null;
  const event: SlotReleased = {
    type: "SlotReleased",
    at,
    license: license.id,
    user,
    slot,
    by,
    peer,
    early,
  };
  return [...features, event];
}
