import { addGap } from "../audit/audit-gaps.ts";
import { lapsedBorrowKey, sumJumps } from "../clock/clock-jumps.ts";
import type { Event, FeatureTaken, SlotTaken } from "../model/event.ts";
import { isGrant } from "../event-catalogue.ts";
import {
  addCount,
  addOpenActivation,
  addOpenRequest,
  cancelRequest,
  installLicense,
  removeLicense,
  requireLicense,
  trustVendor,
} from "./evolve-licenses.ts";
import { recordJump, restoreSlot, setClockBack } from "./evolve-clock.ts";
import { admitHost, changeLeader, leavePair } from "./evolve-pair.ts";
import {
  applyRules,
  changeHolderEnd,
  holderPoolOf,
  moveRecalls,
  recallReservation,
  endRecall,
} from "./evolve-rules.ts";
import type { HolderPool } from "../model/rules/indexed-rules.ts";
import type { Contact } from "../model/slots/contact.ts";
import type { BaseRegistration } from "../model/slots/registration.ts";
import type { DataFolderKind, State } from "../model/state.ts";
import { isTimeDependent } from "../model/licenses/terms.ts";
import { latest, type Instant, later } from "../time.ts";
import {
  emptyMutableState,
  type MutableState,
  type MutableLicense,
  type MutableRegistration,
  newRegistration,
  type MutableFeature,
} from "./mutable-state.ts";
import type { MutableSlotPool } from "./mutable-slot-pool.ts";
import { observeEpisodes, recordEpisode } from "./evolve-demand.ts";
import { moveAway, moveIn, restore, countRefusals } from "./evolve-appliance.ts";
import {
  giveHold,
  leavePlace,
  movePlace,
  rebuildQueues,
  takePlace,
  withdrawHold,
} from "./evolve-queue.ts";
import { acknowledgeStatement, addStatement } from "./evolve-statements.ts";
import { addIdempotencyRecord, dropIdempotencyRecordsOf } from "./evolve-idempotency.ts";

/** An event that only a newer version knows. Skipping it would lose a change. */
export class UnknownEvent extends Error {
  override readonly name = "UnknownEvent";

  constructor(type: string) {
    super(`contains an event that this version of berth does not know: ${type}`);
  }
}

/** The state before the first event. */
export const emptyState = (kind: DataFolderKind): State => emptyMutableState(kind);

/**
 * Changes the state; nothing else does. It contains no rules: it applies what an event says,
 * without checking. Replaying a journal through it rebuilds the state of the running server.
 */
export function evolve(readonlyState: State, event: Event): void {
  const state = readonlyState as MutableState;
  state.latestEventAt = latest(state.latestEventAt, event.at);
  if (!state.hasLentTimeDependent && isGrantOfTimeDependent(state, event)) {
    state.hasLentTimeDependent = true;
  }
  switch (event.type) {
    case "Created":
      state.kind = event.kind;
      state.appliance = event.appliance;
      state.createdAt = event.at;
      return;
    case "VendorTrusted":
      return trustVendor(state, event.vendor);
    case "VendorDistrusted":
      state.vendors.delete(event.vendor);
      return;
    case "RequestMade":
      return addOpenRequest(state, event);
    case "ActivationMade":
      return addOpenActivation(state, event);
    case "RequestCancelled":
      return cancelRequest(state, event);
    case "LicenseInstalled":
      return installLicense(state, event);
    case "LicenseRemoved":
      dropLapsedBorrowsOf(state, event.license);
      dropIdempotencyRecordsOf(state, event.license);
      return removeLicense(state, event);
    case "SlotTaken":
      return takeSlot(state, event);
    case "SlotRenewed": {
      const license = requireLicense(state, event.license);
      const registration = requireHolder(license.pool, event.user);
      // Any other renewal is found by its end.
      if (event.contact !== undefined || registration.borrowedUntil !== null)
        state.slotChanges.add(event.license, event.user);
      setEnd(state, license, registration, event.end, event.at);
      registration.lastSeenAt = event.at;
      if (event.contact !== undefined) updateContact(state, registration, event.contact);
      if (event.unaudited === true) registration.isContactUnaudited = true;
      if (event.leasedTo !== undefined) registration.leasedTo = event.leasedTo;
      endBorrow(state, event.license, registration, event.at);
      return;
    }
    case "ContactChanged": {
      const registration = requireHolder(requireLicense(state, event.license).pool, event.user);
      registration.contactAuditedAt = event.at;
      registration.isContactUnaudited = false;
      // The contact itself changes by the renewal on the next line.
      return;
    }
    case "SlotBorrowed": {
      const license = requireLicense(state, event.license);
      const registration = requireHolder(license.pool, event.user);
      // A shortened borrow is partly returned.
      if (event.early) state.lapsedBorrows.delete(lapsedBorrowKey(event.license, event.user));
      state.slotChanges.add(event.license, event.user);
      setEnd(state, license, registration, event.end, event.at);
      registration.lastSeenAt = event.at;
      registration.isContactUnaudited = false;
      updateContact(state, registration, { ...registration.contact, ...event.contact });
      const { until, at, leasedTo = null } = event;
      return license.pool.setBorrow(registration, { until, at, leasedTo });
    }
    case "SlotReleased":
    case "SlotExpired": {
      const license = requireLicense(state, event.license);
      const { pool, terms } = license;
      const registration = requireHolder(pool, event.user);
      endBorrow(state, event.license, registration, event.at);
      // A slot released early is not restored, however wrong the clock was.
      const isReturned = event.type === "SlotReleased" && terms.earlyReturn;
      if (isReturned) state.lapsedBorrows.delete(lapsedBorrowKey(event.license, event.user));
      state.registrationsByPeer.remove(registration);
      state.rulesIndex.removeHolder(holderPoolOf(license), registration);
      state.slotChanges.add(event.license, event.user);
      if (state.queues.size > 0) state.queues.openCaps(event.user, registration.contact.peer);
      return pool.remove(registration);
    }
    case "SlotRestored":
      state.slotChanges.add(event.license, event.user);
      return restoreSlot(state, event);
    case "FeatureTaken":
      return takeFeature(state, event);
    case "FeatureRenewed": {
      const { pool } = requireFeature(state, event);
      const registration = requireHolder(pool, event.user);
      const { timeoutAt } = event;
      // The end may move with the license's slot; `setAt` belongs to the feature's own timeout.
      if (timeoutAt !== registration.timeoutAt) registration.setAt = event.at;
      registration.timeoutAt = timeoutAt;
      const getPool = (): HolderPool =>
        holderPoolOf(requireLicense(state, event.license), event.feature);
      return changeHolderEnd(state, getPool, pool, registration, event.end);
    }
    case "FeatureReleased":
    case "FeatureExpired": {
      const { pool } = requireFeature(state, event);
      const registration = requireHolder(pool, event.user);
      const license = requireLicense(state, event.license);
      state.rulesIndex.removeHolder(holderPoolOf(license, event.feature), registration);
      state.slotChanges.add(event.license, event.user);
      return pool.remove(registration);
    }
    case "PlaceTaken":
      return takePlace(state, event);
    case "PlaceLeft":
      return leavePlace(state, event);
    case "HoldGiven":
      return giveHold(state, event);
    case "HoldWithdrawn":
      return withdrawHold(state, event);
    case "PlaceMoved":
      return movePlace(state, event);
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
      state.slotChanges.forgetAll();
      state.rulesIndex.reset();
      moveRecalls(state, event);
      return setClockBack(state, event);
    case "KeysSet":
    case "AccessChanged":
    case "SettingChanged":
      // For the audit log only: the values are stored in files of their own.
      return;
    case "Restored":
      return restore(state, event.restore);
    case "MovedAway":
      return moveAway(state, event);
    case "MovedIn":
      return moveIn(state, event);
    case "StatementMade":
      return addStatement(state, event);
    case "StatementAcknowledged":
      return acknowledgeStatement(state, event);
    case "AuditGapDeclared":
      state.auditGaps = addGap(state.auditGaps, event.gap);
      return;
    case "EpisodesObserved":
      return observeEpisodes(state, event);
    case "EpisodeEnded":
      return recordEpisode(state, event);
    case "RefusalsCounted":
      return countRefusals(state, event);
    case "RulesApplied":
      applyRules(state, event);
      return rebuildQueues(state);
    case "ReservationRecalled":
      return recallReservation(state, event);
    case "HostAdmitted":
      return admitHost(state, event);
    case "LeaderChanged":
      return changeLeader(state, event);
    case "PairLeft":
      return leavePair(state, event);
    default: {
      const { type } = event satisfies never as Event;
      throw new UnknownEvent(type);
    }
  }
}

function isGrantOfTimeDependent({ licenses }: State, event: Event): boolean {
  if (!isGrant(event) || !("license" in event)) return false;
  const license = licenses.get(event.license);
  return license !== undefined && isTimeDependent(license.terms);
}

function setEnd(
  state: MutableState,
  license: MutableLicense,
  registration: MutableRegistration,
  end: Instant,
  at: Instant,
): void {
  // A heartbeat of a borrowed slot leaves the end where the borrow set it, so `setAt` stays too.
  if (registration.end !== end) registration.setAt = at;
  changeHolderEnd(state, () => holderPoolOf(license), license.pool, registration, end);
}

/** Ends a borrow whose end is reached, even if heartbeats keep its slot. */
function endBorrow(
  state: MutableState,
  license: number,
  registration: MutableRegistration,
  at: Instant,
): void {
  if (registration.borrowedUntil === null || registration.borrowedUntil > at) return;
  keepLapsedBorrow(state, license, registration);
  requireLicense(state, license).pool.setBorrow(registration, null);
}

function updateContact(
  { registrationsByPeer, queues }: MutableState,
  registration: MutableRegistration,
  contact: Contact,
): void {
  if (queues.size > 0) queues.openCaps(registration.user, registration.contact.peer);
  registrationsByPeer.remove(registration);
  registration.contact = contact;
  registrationsByPeer.add(registration);
}

function requireHolder<T extends BaseRegistration>(pool: MutableSlotPool<T>, user: string): T {
  const holder = pool.get(user);
  if (holder === undefined) throw new Error("an event names a user who holds no slot");
  return holder;
}

/**
 * Called when a registration's borrow has ended. If the clock jumped, that end may truly be in the
 * future, and so is the end of the lease that its application holds.
 */
function keepLapsedBorrow(
  state: MutableState,
  license: number,
  registration: MutableRegistration,
): void {
  const { user, slot, registeredAt, contact, borrowedUntil, borrowedAt } = registration;
  if (borrowedUntil === null || borrowedAt === null) return;
  if (isSettled(state, borrowedUntil)) return;
  const key = lapsedBorrowKey(license, user);
  const existing = state.lapsedBorrows.get(key);
  const { takenFrom, identity } = registration;
  // Of two borrows, the one without a device keeps that of the other one: its lease may be valid.
  const leasedTo = registration.leasedTo ?? existing?.leasedTo ?? null;
  if (existing !== undefined && existing.borrowedUntil > borrowedUntil) {
    state.lapsedBorrows.set(key, { ...existing, leasedTo: existing.leasedTo ?? leasedTo });
    return;
  }
  state.lapsedBorrows.set(key, {
    license,
    user,
    slot,
    registeredAt,
    contact,
    borrowedUntil,
    borrowedAt,
    leasedTo,
    ...(takenFrom !== contact && { takenFrom }),
    ...(identity !== null && { identity }),
  });
}

/** Drops the lapsed borrows that have ended even if every recorded jump was wrong. */
function dropSettledBorrows(state: MutableState): void {
  for (const [key, { borrowedUntil }] of state.lapsedBorrows)
    if (isSettled(state, borrowedUntil)) state.lapsedBorrows.delete(key);
}

const isSettled = ({ clockJumps, latestEventAt }: MutableState, until: Instant): boolean =>
  latestEventAt >= later(until, sumJumps(clockJumps));

function dropLapsedBorrowsOf({ lapsedBorrows }: MutableState, license: number): void {
  for (const [key, borrow] of lapsedBorrows)
    if (borrow.license === license) lapsedBorrows.delete(key);
}

/** New slots of licenses and of their features. */

function takeSlot(state: MutableState, event: SlotTaken): void {
  const { user, slot, end, at, contact, identity = null } = event;
  state.nextSlot = Math.max(state.nextSlot, slot + 1);
  const license = requireLicense(state, event.license);
  const registration = newRegistration(slot, user, at, end, contact, identity);
  license.pool.add(registration);
  state.rulesIndex.addHolder(holderPoolOf(license), registration);
  if (event.home !== undefined) endRecall(state, license.terms.product, null, event.home);
  state.slotChanges.add(event.license, user);
  state.registrationsByPeer.add(registration);
}

function takeFeature(state: MutableState, event: FeatureTaken): void {
  const { user, slot, end, timeoutAt, at, host = "", peer, identity = null } = event;
  state.nextSlot = Math.max(state.nextSlot, slot + 1);
  const ends = { end, setAt: at, timeoutAt };
  const takenFrom = { hostname: host, peer };
  const registration = { slot, user, registeredAt: at, ...ends, takenFrom, identity };
  requireFeature(state, event).pool.add(registration);
  state.slotChanges.add(event.license, user);
  const pool = holderPoolOf(requireLicense(state, event.license), event.feature);
  state.rulesIndex.addHolder(pool, registration);
  if (event.home !== undefined) endRecall(state, pool.product, event.feature, event.home);
}

function requireFeature(
  state: MutableState,
  event: { license: number; feature: string },
): MutableFeature {
  const feature = requireLicense(state, event.license).features.get(event.feature);
  if (feature === undefined) throw new Error("an event names a feature its license does not have");
  return feature;
}
