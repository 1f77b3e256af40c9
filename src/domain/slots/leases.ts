import type { Fault } from "../fault.ts";
import { getBorrowEnd, findHeldSlot } from "./slots.ts";
import type { Registration } from "./registration.ts";
import type { License } from "../state.ts";
import { getLicenseEnd, type Terms } from "../licenses/terms.ts";
import { earliest, HOUR, later, MINUTE, type Instant } from "../time.ts";

/**
 * A lease of a borrowed slot is valid without the server until the borrow ends. So a borrow is
 * leased to one device only: the first that sent a nonce. The device is identified by the digest of
 * that nonce.
 */

/** The fault if this user's borrow is leased to another device; null: it is not. */
export function checkLeasedElsewhere(
  { pool, terms }: License,
  user: string,
  nonceDigest: string | null,
  at: Instant,
): Fault | null {
  if (nonceDigest === null) return null;
  const registration = findHeldSlot(pool, user, at);
  const until = registration === null ? null : getBorrowEnd(registration, at);
  if (registration === null || until === null) return null;
  if (registration.leasedTo === null || registration.leasedTo === nonceDigest) return null;
  return { code: "leased_elsewhere", until, canReturn: terms.earlyReturn };
}

/**
 * The device that this slot's borrow is leased to; null: none, or the slot is no longer borrowed.
 */
export const findLeasedDevice = (registration: Registration | null, at: Instant): string | null =>
  registration === null || getBorrowEnd(registration, at) === null ? null : registration.leasedTo;

/**
 * A lease ends with its slot, but no later than its license allows. A slot can outlast the
 * license's end by its timeout, and the terms of a renewal by its borrow.
 */
export function computeLeaseEnd(terms: Terms, end: Instant, at: Instant): Instant {
  const { timeoutMinutes, borrowHours } = terms;
  const longest = Math.max(timeoutMinutes * MINUTE, (borrowHours ?? 0) * HOUR);
  return earliest(earliest(end, later(at, longest)), getLicenseEnd(terms) ?? end);
}
