import type { SlotRef } from "../model/slots/slot-change-log.ts";
import type { License, State } from "../model/state.ts";
import { later, MINUTE, type Instant } from "../time.ts";
import { viewRegistration, type RegistrationView } from "./views.ts";
import type { Registration } from "../model/slots/registration.ts";
import { findHeldSlot } from "../model/slots/pool.ts";

/** What a reader of the list has seen: all changes before a position, at an instant. */
export interface ListPosition {
  readonly change: number;
  readonly at: Instant;
}

/** A heartbeat: nothing else of the slot has changed. */
export type SlotRenewal = SlotRef & Pick<Registration, "lastSeenAt" | "end">;

export interface SlotChanges {
  readonly changed: readonly RegistrationView[];
  readonly removed: readonly SlotRef[];
  readonly renewed: readonly SlotRenewal[];
}

/** So many are serialized in a few milliseconds; heartbeats wait no longer than that. */
const MAX_CHANGES = 2_000;

/**
 * What to change in a list that was read at `since` to get the list at this instant; null: it must
 * be read again, because too much has changed. The work depends on the number of changes, not on
 * the number of slots. Ends of borrows are left to the reader, who knows them.
 */
export function findSlotChanges(
  state: State,
  since: ListPosition,
  at: Instant,
): SlotChanges | null {
  const logged = state.slotChanges.since(since.change);
  if (logged === null || since.at > at || logged.length > MAX_CHANGES) return null;
  const refs = new Map(logged.map((ref) => [keyOf(ref), ref]));
  const renewed: SlotRenewal[] = [];
  for (const license of state.licenses.values()) {
    for (const user of usersWithEndedSlots(license, since.at, at)) {
      const ref = { license: license.id, user };
      refs.set(keyOf(ref), ref);
      if (refs.size > MAX_CHANGES) return null;
    }
    for (const { user, lastSeenAt, end } of findRenewals(license, since.at, at)) {
      const renewal = { license: license.id, user, lastSeenAt, end };
      if (!refs.has(keyOf(renewal))) renewed.push(renewal);
      if (refs.size + renewed.length > MAX_CHANGES) return null;
    }
  }
  const changed: RegistrationView[] = [];
  const removed: SlotRef[] = [];
  for (const ref of refs.values()) {
    const license = state.licenses.get(ref.license);
    const registration = license && findHeldSlot(license.pool, ref.user, at);
    if (license === undefined || registration == null) removed.push(ref);
    else changed.push(viewRegistration(state, license, registration, at));
  }
  return { changed, removed, renewed };
}

const keyOf = ({ license, user }: SlotRef): string => `${license} ${user}`;

/** Ends that were reached without an event: an expiry is written with a later command. */
function* usersWithEndedSlots(
  { pool, features }: License,
  after: Instant,
  at: Instant,
): Generator<string, void> {
  const from = later(after, 1);
  for (const { user } of pool.expiryIndex.endingBetween(from, at)) yield user;
  for (const feature of features.values())
    for (const { user } of feature.pool.expiryIndex.endingBetween(from, at)) yield user;
}

/** A heartbeat moves the end to a timeout from then, so the end tells when it was. */
const findRenewals = ({ pool, terms }: License, since: Instant, at: Instant) => {
  const timeout = terms.timeoutMinutes * MINUTE;
  return pool.expiryIndex.endingBetween(later(since, timeout), later(at, timeout));
};
