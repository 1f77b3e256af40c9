import {
  findRemainingJumps,
  lapsedBorrowKey,
  moveLapsedBorrow,
  makeClockSkewAt,
  findUndoneJumps,
  type ClockSkewAt,
} from "./clock-jumps.ts";
import type { ClockSetBack, SlotRestored } from "./event.ts";
import { requireLicense } from "./evolve-licenses.ts";
import type { SlotPool } from "./pool.ts";
import type { RecordedJump } from "./clock-jump-types.ts";
import {
  newRegistration,
  type BaseRegistration,
  type FeatureRegistration,
  type Registration,
} from "./registration.ts";
import type { Counter, License, State } from "./state.ts";
import type { ConsumptionTerms } from "./terms.ts";
import { earliest, later, latest, findNextPeriodStart, type Instant } from "./time.ts";

/**
 * Time went back. What was set while the clock was ahead moves back by as much as it was ahead
 * then; what was set under the right clock stays as it was granted.
 */
export function setClockBack(state: State, { from, to }: ClockSetBack): void {
  const skew = makeClockSkewAt(state.clockJumps, from, to);
  const moved = (at: Instant): Instant => later(at, -skew(at));
  const [firstUndone] = findUndoneJumps(state.clockJumps, to);
  state.latestEventAt = to;
  state.clockNonce = null;
  state.createdAt = moved(state.createdAt);
  for (const license of state.licenses.values()) {
    moveRegistrations(license.pool, skew);
    moveCounter(license.counter, license.terms.consumption, to, firstUndone, license.id, null);
    license.movedAt = license.movedAt && moved(license.movedAt);
    for (const [code, feature] of license.features) {
      moveFeatureSlots(feature.pool, license.pool, skew);
      const { consumption } = feature.terms;
      moveCounter(feature.counter, consumption, to, firstUndone, license.id, code);
    }
  }
  moveEach(state.requests, moved);
  moveEach(state.activations, moved);
  state.idempotencyRecords.update(({ at, outcome, ...one }) => ({
    ...one,
    at: moved(at),
    outcome: moveOutcome(outcome, skew, at),
  }));
  for (const [key, one] of state.lapsedBorrows)
    state.lapsedBorrows.set(key, moveLapsedBorrow(one, skew));
  state.clockJumps.splice(0, Infinity, ...findRemainingJumps(state.clockJumps, from, to));
}

/** A borrow is held again that ended only because the clock was ahead. */
export function restoreSlot(state: State, event: SlotRestored): void {
  const { license: id, user, slot, until } = event;
  const { pool, features } = requireLicense(state, id);
  const key = lapsedBorrowKey(id, user);
  const lapsed = state.lapsedBorrows.get(key);
  if (lapsed === undefined) throw new Error("an event restores a borrow that did not lapse");
  state.lapsedBorrows.delete(key);
  const { registeredAt, contact, borrowedAt, leasedTo } = lapsed;
  const held = pool.get(user);
  if (held === undefined) {
    const restored = newRegistration(slot, user, registeredAt, until, contact);
    Object.assign(restored, { setAt: borrowedAt, borrowedUntil: until, borrowedAt, leasedTo });
    pool.add(restored);
    return state.registrationsByPeer.add(restored);
  }
  if (held.borrowedUntil !== null && held.borrowedUntil >= until) return;
  held.borrowedUntil = until;
  held.borrowedAt = borrowedAt;
  held.leasedTo = leasedTo;
  if (held.end >= until) return;
  pool.changeEnd(held, until);
  held.setAt = borrowedAt;
  for (const { pool: slots } of features.values()) {
    const using = slots.get(user);
    if (using !== undefined) slots.changeEnd(using, earliest(using.timeoutAt, until));
  }
}

function moveRegistrations(pool: SlotPool<Registration>, skew: ClockSkewAt): void {
  // In place: what else knows a registration knows it as this object.
  for (const held of pool.inSlotOrder()) {
    moveHolder(pool, held, skew);
    const { contactAuditedAt: audited } = held;
    held.contactAuditedAt = audited && later(audited, -skew(audited));
    if (held.borrowedUntil === null || held.borrowedAt === null) continue;
    held.borrowedUntil = later(held.borrowedUntil, -skew(held.borrowedAt));
    held.borrowedAt = later(held.borrowedAt, -skew(held.borrowedAt));
    // A heartbeat in the wrong time must not take a borrow of the right time along.
    if (held.end < held.borrowedUntil) pool.changeEnd(held, held.borrowedUntil);
  }
}

/** Their own timeout moves as it was set; they end with the license's slot, which has moved. */
function moveFeatureSlots(
  pool: SlotPool<FeatureRegistration>,
  licensePool: SlotPool<Registration>,
  skew: ClockSkewAt,
): void {
  for (const held of pool.inSlotOrder()) {
    held.timeoutAt = later(held.timeoutAt, -skew(held.setAt));
    moveHolder(pool, held, skew);
    const through = licensePool.get(held.user);
    if (through !== undefined) pool.changeEnd(held, earliest(held.timeoutAt, through.end));
  }
}

function moveHolder<T extends BaseRegistration>(
  pool: SlotPool<T>,
  held: T,
  skew: ClockSkewAt,
): void {
  pool.changeEnd(held, later(held.end, -skew(held.setAt)));
  held.setAt = later(held.setAt, -skew(held.setAt));
  held.registeredAt = later(held.registeredAt, -skew(held.registeredAt));
}

/**
 * The period that runs is the one the new time lies in. Its total is what stood there before the
 * clock went ahead, and all that was counted since: what was reset meanwhile counts again.
 */
function moveCounter(
  counter: Counter,
  terms: ConsumptionTerms | null,
  to: Instant,
  jump: RecordedJump | undefined,
  license: License["id"],
  feature: string | null,
): void {
  if (terms?.period != null && counter.resetAt !== null && counter.resetAt > to) {
    counter.resetAt = findNextPeriodStart(terms.period, to);
  }
  const before = jump?.counters.find((one) => one.license === license && one.feature === feature);
  if (before === undefined) return;
  const runsOn = before.resetAt === null || before.resetAt > to;
  counter.total = Math.max(0, (runsOn ? before.total : 0) + counter.counted - before.counted);
}

/** A borrow says when it ends, and its lease is signed from that; a count says nothing of time. */
function moveOutcome(outcome: unknown, skew: ClockSkewAt, at: Instant): unknown {
  if (typeof outcome !== "object" || outcome === null || !("borrowedUntil" in outcome)) {
    return outcome;
  }
  const kept = outcome as Pick<Registration, "registeredAt" | "end" | "borrowedUntil">;
  const until = kept.borrowedUntil && later(kept.borrowedUntil, -skew(at));
  const end = later(kept.end, -skew(at));
  return {
    ...kept,
    registeredAt: later(kept.registeredAt, -skew(kept.registeredAt)),
    end: until === null ? end : latest(end, until),
    borrowedUntil: until,
  };
}

function moveEach<T extends { readonly at: Instant }>(
  all: Map<string, T>,
  moved: (at: Instant) => Instant,
): void {
  for (const [key, one] of all) all.set(key, { ...one, at: moved(one.at) });
}
