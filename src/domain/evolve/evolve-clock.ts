import {
  lapsedBorrowKey,
  moveLapsedBorrow,
  makeClockSkewAt,
  findUndoneJumps,
  type ClockSkewAt,
  findRemainingJumps,
} from "../clock/clock-jumps.ts";
import type { ClockSetBack, SlotRestored } from "../model/event.ts";
import { moveEpisodes } from "./evolve-demand.ts";
import { rebuildQueues } from "./evolve-queue.ts";
import { requireLicense } from "./evolve-licenses.ts";
import { changeHolderEnd, holderPoolOf } from "./evolve-rules.ts";
import type { RecordedJump } from "../model/clock-jump-types.ts";
import type { ConsumptionTerms } from "../model/licenses/terms.ts";
import { earliest, later, latest, findNextPeriodStart, type Instant } from "../time.ts";
import { totalAt } from "../consumption/counters.ts";
import type { ClockJumped } from "../model/event.ts";
import { limits } from "../model/limits.ts";
import {
  newRegistration,
  type MutableHolder,
  type MutableState,
  type MutableLicense,
  type MutableCounter,
  type MutableRegistration,
  type MutableFeatureRegistration,
} from "./mutable-state.ts";
import type { MutableRegistrationPool } from "./mutable-registration-pool.ts";
import type { MutableSlotPool } from "./mutable-slot-pool.ts";

/**
 * The clock can jump forward by mistake and be corrected later. This records what the correction
 * needs to restore everything that was granted under the correct clock.
 */
export function recordJump(state: MutableState, { from, to, reason }: ClockJumped): void {
  const counters = [...listCounters(state)]
    .filter(({ counter }) => counter.resetAt !== null)
    .map(({ license, feature, counter }) => ({
      license,
      feature,
      total: totalAt(counter, from),
      resetAt: counter.resetAt,
      counted: counter.counted,
    }))
    // Sorted: a restart may load the licenses in another order than they were installed in.
    .toSorted((a, b) => a.license - b.license || ((a.feature ?? "") < (b.feature ?? "") ? -1 : 1));
  state.clockJumps.push({ from, to, reason, counters });
  if (state.clockJumps.length > limits.clockJumps) state.clockJumps.shift();
}

/** The counters of every license and of every feature. */
function* listCounters(state: MutableState): Generator<{
  readonly license: number;
  readonly feature: string | null;
  readonly counter: MutableCounter;
}> {
  for (const { id, counter, features } of state.licenses.values()) {
    yield { license: id, feature: null, counter };
    for (const [feature, { counter: featureCounter }] of features) {
      yield { license: id, feature, counter: featureCounter };
    }
  }
}

/**
 * Moves the state back in time. A value that was set while the clock was ahead moves back by as
 * much as the clock was ahead then. A value that was set under the correct clock stays as it was
 * granted, and so does the end of a borrow, which is in a signed lease.
 */
export function setClockBack(state: MutableState, { from, to }: ClockSetBack): void {
  const skew = makeClockSkewAt(state.clockJumps, from, to);
  const moveInstant = (at: Instant): Instant => later(at, -skew(at));
  const [firstUndone] = findUndoneJumps(state.clockJumps, to);
  state.latestEventAt = to;
  state.clockNonce = null;
  state.createdAt = moveInstant(state.createdAt);
  for (const license of state.licenses.values()) {
    moveRegistrations(license.pool, skew);
    moveCounter(license.counter, license.terms.consumption, to, firstUndone, license.id, null);
    license.movedAt = license.movedAt && moveInstant(license.movedAt);
    const { restored } = license;
    if (restored !== undefined) license.restored = { ...restored, at: moveInstant(restored.at) };
    for (const [code, feature] of license.features) {
      moveFeatureSlots(feature.pool, license.pool, skew);
      const { consumption } = feature.terms;
      moveCounter(feature.counter, consumption, to, firstUndone, license.id, code);
    }
  }
  moveEach(state.requests, moveInstant);
  moveEach(state.activations, moveInstant);
  state.idempotencyRecords.update(({ at, outcome, ...entry }) => ({
    ...entry,
    at: moveInstant(at),
    outcome: moveOutcome(outcome, skew, at),
  }));
  moveEpisodes(state, to);
  rebuildQueues(state, moveInstant);
  for (const [key, entry] of state.lapsedBorrows)
    state.lapsedBorrows.set(key, moveLapsedBorrow(entry, skew));
  state.clockJumps.splice(0, Infinity, ...findRemainingJumps(state.clockJumps, from, to));
}

/** Restores a borrow that ended only because the clock was ahead. */
export function restoreSlot(state: MutableState, event: SlotRestored): void {
  const { license: id, user, slot, until } = event;
  const license = requireLicense(state, id);
  const { pool, features } = license;
  const key = lapsedBorrowKey(id, user);
  const lapsed = state.lapsedBorrows.get(key);
  if (lapsed === undefined) throw new Error("an event restores a borrow that did not lapse");
  state.lapsedBorrows.delete(key);
  const { registeredAt, contact, borrowedAt, leasedTo, identity = null } = lapsed;
  const registration = pool.get(user);
  if (registration === undefined) {
    const restored = newRegistration(slot, user, registeredAt, until, contact, identity);
    restored.takenFrom = lapsed.takenFrom ?? contact;
    Object.assign(restored, { setAt: borrowedAt, lastSeenAt: borrowedAt });
    Object.assign(restored, { borrowedUntil: until, borrowedAt, leasedTo });
    pool.add(restored);
    state.rulesIndex.addHolder(holderPoolOf(license), restored);
    return state.registrationsByPeer.add(restored);
  }
  if (registration.borrowedUntil !== null && registration.borrowedUntil >= until) return;
  pool.setBorrow(registration, { until, at: borrowedAt, leasedTo });
  if (registration.end >= until) return;
  changeHolderEnd(state, () => holderPoolOf(license), pool, registration, until);
  registration.setAt = borrowedAt;
  for (const [code, { pool: slots }] of features) {
    const featureSlot = slots.get(user);
    if (featureSlot === undefined) continue;
    const end = earliest(featureSlot.timeoutAt, until);
    changeHolderEnd(state, () => holderPoolOf(license, code), slots, featureSlot, end);
  }
}

function moveRegistrations(pool: MutableRegistrationPool, skew: ClockSkewAt): void {
  // Changed in place, because the indexes refer to the same objects.
  for (const registration of pool.inSlotOrder()) {
    moveHolder(pool, registration, skew);
    const { contactAuditedAt: auditedAt, lastSeenAt } = registration;
    registration.lastSeenAt = later(lastSeenAt, -skew(lastSeenAt));
    registration.contactAuditedAt = auditedAt && later(auditedAt, -skew(auditedAt));
    const { borrowedUntil: until, borrowedAt } = registration;
    if (until === null || borrowedAt === null) continue;
    registration.borrowedAt = later(borrowedAt, -skew(borrowedAt));
    // The lease of a borrow is valid until then, whatever the clock showed when it was signed.
    if (registration.end < until) pool.changeEnd(registration, until);
  }
}

/**
 * A feature slot's own timeout moves by when it was set. Its end is limited by the end of the
 * license's slot, which has already moved.
 */
function moveFeatureSlots(
  pool: MutableSlotPool<MutableFeatureRegistration>,
  licensePool: MutableRegistrationPool,
  skew: ClockSkewAt,
): void {
  for (const featureSlot of pool.inSlotOrder()) {
    featureSlot.timeoutAt = later(featureSlot.timeoutAt, -skew(featureSlot.setAt));
    moveHolder(pool, featureSlot, skew);
    const licenseSlot = licensePool.get(featureSlot.user);
    if (licenseSlot !== undefined)
      pool.changeEnd(featureSlot, earliest(featureSlot.timeoutAt, licenseSlot.end));
  }
}

function moveHolder<T extends MutableHolder>(
  pool: MutableSlotPool<T>,
  holder: T,
  skew: ClockSkewAt,
): void {
  pool.changeEnd(holder, later(holder.end, -skew(holder.setAt)));
  holder.setAt = later(holder.setAt, -skew(holder.setAt));
  holder.registeredAt = later(holder.registeredAt, -skew(holder.registeredAt));
}

/**
 * The current period is the one that contains the new time. Its total is the total before the jump
 * plus everything counted since: counts that a reset removed meanwhile count again.
 */
function moveCounter(
  counter: MutableCounter,
  terms: ConsumptionTerms | null,
  to: Instant,
  jump: RecordedJump | undefined,
  license: MutableLicense["id"],
  feature: string | null,
): void {
  if (terms?.period != null && counter.resetAt !== null && counter.resetAt > to) {
    counter.resetAt = findNextPeriodStart(terms.period, to);
  }
  const before = jump?.counters.find(
    (entry) => entry.license === license && entry.feature === feature,
  );
  if (before === undefined) return;
  const isSamePeriod = before.resetAt === null || before.resetAt > to;
  counter.total = Math.max(0, (isSamePeriod ? before.total : 0) + counter.counted - before.counted);
}

/**
 * A borrow's outcome contains its end, from which the lease is signed. The outcome of a count
 * contains no time.
 */
function moveOutcome(outcome: unknown, skew: ClockSkewAt, at: Instant): unknown {
  if (typeof outcome !== "object" || outcome === null || !("borrowedUntil" in outcome)) {
    return outcome;
  }
  const borrowOutcome = outcome as Pick<
    MutableRegistration,
    "registeredAt" | "end" | "borrowedUntil"
  >;
  const { borrowedUntil } = borrowOutcome;
  const end = later(borrowOutcome.end, -skew(at));
  return {
    ...borrowOutcome,
    registeredAt: later(borrowOutcome.registeredAt, -skew(borrowOutcome.registeredAt)),
    end: borrowedUntil === null ? end : latest(end, borrowedUntil),
  };
}

function moveEach<T extends { readonly at: Instant }>(
  entries: Map<string, T>,
  moveInstant: (at: Instant) => Instant,
): void {
  for (const [key, entry] of entries) entries.set(key, { ...entry, at: moveInstant(entry.at) });
}
