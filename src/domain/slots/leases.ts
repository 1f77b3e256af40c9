import type { Fault } from "../model/fault.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { findLapsedLease } from "./ended-borrows.ts";
import { getBorrowEnd, type Registration } from "../model/slots/registration.ts";
import { findHeldSlot } from "../model/slots/pool.ts";
import type { License, State } from "../model/state.ts";
import { getLicenseEnd, type Terms } from "../model/licenses/terms.ts";
import { earliest, HOUR, later, MINUTE, type Instant } from "../time.ts";

/**
 * A lease of a borrowed slot is valid without the server until the borrow ends. So a borrow is
 * leased to one device only: the first that sent a nonce. The device is identified by the digest of
 * that nonce.
 */

/** The fault if this user's borrow is leased to another device; null: it is not. */
export function checkLeasedElsewhere(
  state: State,
  license: License,
  user: string,
  nonceDigest: string | null,
  context: RuleContext,
): Fault | null {
  if (nonceDigest === null) return null;
  const lease = findLease(state, license, user, context);
  if (lease === null || lease.device === nonceDigest) return null;
  return {
    code: "leased_elsewhere",
    until: lease.until,
    canReturn: license.terms.earlyReturn,
  };
}

/** The device that this user's borrow is leased to, and until when; null: none. */
export function findLease(
  state: State,
  license: License,
  user: string,
  context: RuleContext,
): { readonly device: string; readonly until: Instant } | null {
  const { at } = context;
  const registration = findHeldSlot(license.pool, user, at);
  const device = findLeasedDevice(registration, at);
  const until = registration?.borrowedUntil ?? null;
  return device !== null && until !== null
    ? { device, until }
    : findLapsedLease(state, license, user, context);
}

/**
 * The device that this slot's borrow is leased to; null: none, or the slot is no longer borrowed.
 */
export const findLeasedDevice = (registration: Registration | null, at: Instant): string | null =>
  registration === null || getBorrowEnd(registration, at) === null ? null : registration.leasedTo;

/**
 * Until when a user may use the slot: it is kept for its timeout even if the license ends before,
 * but grants nothing then.
 */
export const computeUseEnd = (terms: Terms, end: Instant): Instant =>
  earliest(end, getLicenseEnd(terms) ?? end);

/**
 * A lease ends with its slot, but no later than its license allows. A slot can outlast the
 * license's end by its timeout, and the terms of a renewal by its borrow.
 */
export function computeLeaseEnd(terms: Terms, end: Instant, at: Instant): Instant {
  const { timeoutMinutes, borrowHours } = terms;
  const longest = Math.max(timeoutMinutes * MINUTE, (borrowHours ?? 0) * HOUR);
  return computeUseEnd(terms, earliest(end, later(at, longest)));
}
