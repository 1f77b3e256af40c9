import { addGap } from "./audit-gaps.ts";
import {
  sumJumpsSince,
  dropSettledBorrows,
  dropLapsedBorrowsOf,
  keepLapsedBorrow,
  lapsedBorrowKey,
  recordJump,
} from "./clock-jumps.ts";
import type { Event, KeyRemembered, RefusalsCounted, SlotTaken } from "./event.ts";
import {
  addCount,
  installLicense,
  requireLicense,
  addOpenActivation,
  addOpenRequest,
  removeLicense,
} from "./evolve-licenses.ts";
import { limits } from "./limits.ts";
import { moveAway, moveIn } from "./move.ts";
import type { SlotPool } from "./pool.ts";
import { restoreSlot, setClockBack } from "./clock-set-back.ts";
import {
  newRegistration,
  type Contact,
  type BaseRegistration,
  type Registration,
} from "./registration.ts";
import type { Feature, IdempotencyRecord, State } from "./state.ts";
import { isTimeDependent } from "./terms.ts";
import { later, latest, type Instant } from "./time.ts";

/** A newer version wrote it: to pass it over would be to forget what happened. */
export class UnknownEvent extends Error {
  override readonly name = "UnknownEvent";

  constructor(type: string) {
    super(`holds an event that this berth does not know: ${type}`);
  }
}

/**
 * The only code that changes State, and it holds no rules: what an event says happened, happened.
 * Replaying a journal through it gives the state that was serving.
 */
export function evolve(state: State, event: Event): void {
  state.latestEventAt = latest(state.latestEventAt, event.at);
  if (isLendingEvent(event) && isLicenseTimeDependent(state, event.license))
    state.hasLentTimeDependent = true;
  switch (event.type) {
    case "Created":
      state.kind = event.kind;
      state.appliance = event.appliance;
      state.createdAt = event.at;
      return;
    case "VendorTrusted":
      state.vendors.set(event.vendor.vendor, event.vendor);
      return;
    case "VendorDistrusted":
      state.vendors.delete(event.vendor);
      return;
    case "RequestMade":
      return addOpenRequest(state, event);
    case "ActivationMade":
      return addOpenActivation(state, event);
    case "LicenseInstalled":
      return installLicense(state, event);
    case "LicenseRemoved":
      dropLapsedBorrowsOf(state, event.license);
      dropIdempotencyRecordsOf(state, event.license);
      return removeLicense(state, event);
    case "SlotTaken": {
      const { user, slot, end, contact, at } = event;
      state.nextSlot = Math.max(state.nextSlot, slot + 1);
      const { pool } = requireLicense(state, event.license);
      const held = newRegistration(slot, user, at, end, contact);
      pool.add(held);
      return state.registrationsByPeer.add(held);
    }
    case "SlotRenewed": {
      const { pool } = requireLicense(state, event.license);
      const held = requireHolder(pool, event.user);
      setEnd(pool, held, event.end, event.at);
      if (event.contact !== undefined) updateContact(state, held, event.contact);
      if (event.unaudited === true) held.isContactUnaudited = true;
      if (event.leasedTo !== undefined) held.leasedTo = event.leasedTo;
      endBorrow(state, event.license, held, event.at);
      return;
    }
    case "ContactChanged": {
      const held = requireHolder(requireLicense(state, event.license).pool, event.user);
      held.contactAuditedAt = event.at;
      held.isContactUnaudited = false;
      // The contact itself comes with the renewal, on the next line.
      return;
    }
    case "SlotBorrowed": {
      const { pool } = requireLicense(state, event.license);
      const held = requireHolder(pool, event.user);
      // Shortened, it is given back in part; else what was granted before a jump is still promised.
      if (event.early) state.lapsedBorrows.delete(lapsedBorrowKey(event.license, event.user));
      else keepLapsedBorrow(state, event.license, held);
      setEnd(pool, held, event.end, event.at);
      held.isContactUnaudited = false;
      updateContact(state, held, { ...held.contact, ...event.contact });
      held.borrowedUntil = event.until;
      held.borrowedAt = event.at;
      held.leasedTo = event.leasedTo ?? null;
      return;
    }
    case "SlotReleased":
    case "SlotExpired": {
      const { pool, terms } = requireLicense(state, event.license);
      const held = requireHolder(pool, event.user);
      endBorrow(state, event.license, held, event.at);
      // What was given back early is nobody's any more, however wrong the clock was.
      const isGivenBack = event.type === "SlotReleased" && terms.earlyReturn;
      if (isGivenBack) state.lapsedBorrows.delete(lapsedBorrowKey(event.license, event.user));
      state.registrationsByPeer.remove(held);
      return pool.remove(held);
    }
    case "SlotRestored":
      return restoreSlot(state, event);
    case "FeatureTaken": {
      const { user, slot, end, timeoutAt = end, at } = event;
      state.nextSlot = Math.max(state.nextSlot, slot + 1);
      const ends = { end, setAt: at, timeoutAt };
      return requireFeature(state, event).pool.add({ slot, user, registeredAt: at, ...ends });
    }
    case "FeatureRenewed": {
      const { pool } = requireFeature(state, event);
      const held = requireHolder(pool, event.user);
      const timeoutAt = event.timeoutAt ?? event.end;
      // The end may move with the license's slot: what is set by this is the feature's own timeout.
      if (timeoutAt !== held.timeoutAt) held.setAt = event.at;
      held.timeoutAt = timeoutAt;
      return pool.changeEnd(held, event.end);
    }
    case "FeatureReleased":
    case "FeatureExpired": {
      const { pool } = requireFeature(state, event);
      return pool.remove(requireHolder(pool, event.user));
    }
    case "ConsumptionAdded":
      return addCount(requireLicense(state, event.license).counter, event);
    case "FeatureConsumptionAdded":
      return addCount(requireFeature(state, event).counter, event);
    case "KeyRemembered":
      return addIdempotencyRecord(state, event);
    case "ClockMarked":
      return dropSettledBorrows(state);
    case "ClockJumped":
      return recordJump(state, event);
    case "ClockAsked":
      state.clockNonce = event.nonce;
      state.clockAskedAt = event.at;
      return;
    case "ClockSetBack":
      return setClockBack(state, event);
    case "KeysSet":
    case "AccessChanged":
      // On record only: the values live elsewhere, sealed or hashed.
      return;
    case "Restored":
      state.restores.push(event.restore);
      if (state.restores.length > limits.restores) state.restores.shift();
      return;
    case "MovedAway":
      return moveAway(state, event);
    case "MovedIn":
      return moveIn(state, event);
    case "AuditGapDeclared":
      state.auditGaps = addGap(state.auditGaps, event.gap);
      return;
    case "RefusalsCounted":
      return countRefusals(state, event);
    default: {
      const { type } = event satisfies never as Event;
      throw new UnknownEvent(type);
    }
  }
}

/** Events that lend something out. */
const LENDING_EVENT_TYPES = new Set([
  "SlotTaken",
  "SlotRenewed",
  "FeatureRenewed",
  "SlotBorrowed",
  "FeatureTaken",
  "ConsumptionAdded",
  "FeatureConsumptionAdded",
]);

const isLendingEvent = (event: Event): event is SlotTaken => LENDING_EVENT_TYPES.has(event.type);

const isLicenseTimeDependent = (state: State, id: number): boolean => {
  const license = state.licenses.get(id);
  return license !== undefined && isTimeDependent(license.terms);
};

function setEnd<T extends BaseRegistration>(
  pool: SlotPool<T>,
  held: T,
  end: Instant,
  at: Instant,
): void {
  // A heartbeat of a borrowed slot leaves the end where the borrow put it: it was set then.
  if (held.end !== end) held.setAt = at;
  pool.changeEnd(held, end);
}

/** A borrow whose end has come is over, also where its slot is held on by heartbeats. */
function endBorrow(state: State, license: number, held: Registration, at: Instant): void {
  if (held.borrowedUntil === null || held.borrowedUntil > at) return;
  keepLapsedBorrow(state, license, held);
  held.borrowedUntil = null;
  held.borrowedAt = null;
  held.leasedTo = null;
}

function updateContact({ registrationsByPeer }: State, held: Registration, contact: Contact): void {
  registrationsByPeer.remove(held);
  held.contact = contact;
  registrationsByPeer.add(held);
}

function addIdempotencyRecord(
  { idempotencyRecords, clockJumps }: State,
  event: KeyRemembered,
): void {
  const { key, at, fingerprint, outcome, peer = null } = event;
  idempotencyRecords.add(key, { at, fingerprint, outcome, peer });
  for (let dropped = 0; dropped < limits.idempotencyDropsPerCommand; dropped += 1) {
    const { oldest } = idempotencyRecords;
    if (oldest === null) break;
    // If the clock jumped since, it may be set back, and the key is good again.
    const age = limits.idempotencyAge + sumJumpsSince(clockJumps, oldest.record.at);
    if (at < later(oldest.record.at, age)) break;
    idempotencyRecords.delete(oldest.key);
  }
  const most =
    idempotencyRecords.size > limits.idempotencyKeys
      ? idempotencyRecords.oldestKeyOfLargestPeer
      : null;
  if (most !== null) idempotencyRecords.delete(most);
}

/** What a license answered is nobody's any more once it is given back, also if it comes again. */
function dropIdempotencyRecordsOf({ idempotencyRecords }: State, license: number): void {
  const isOf = ({ outcome }: IdempotencyRecord): boolean =>
    (outcome as { readonly license?: number } | null)?.license === license;
  for (const [key] of [...idempotencyRecords].filter(([, done]) => isOf(done)))
    idempotencyRecords.delete(key);
}

function countRefusals(state: State, { product, code, count, at }: RefusalsCounted): void {
  const key = JSON.stringify([product, code]);
  const before = state.refusals.get(key);
  if (before === undefined && state.refusals.size >= limits.refusalTotals) return;
  state.refusals.set(key, { product, code, count: (before?.count ?? 0) + count, lastAt: at });
}

function requireFeature(state: State, event: { license: number; feature: string }): Feature {
  const feature = requireLicense(state, event.license).features.get(event.feature);
  if (feature === undefined) throw new Error("an event names a feature its license does not have");
  return feature;
}

function requireHolder<T extends BaseRegistration>(pool: SlotPool<T>, user: string): T {
  const held = pool.get(user);
  if (held === undefined) throw new Error("an event names a user who holds no slot");
  return held;
}
