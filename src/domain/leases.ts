import type { Fault } from "./fault.ts";
import { getBorrowEnd, findHeldSlot } from "./slots.ts";
import type { Registration } from "./registration.ts";
import type { License } from "./state.ts";
import { getLicenseEnd, type Terms } from "./terms.ts";
import { earliest, HOUR, later, MINUTE, type Instant } from "./time.ts";

/**
 * A lease of a borrowed slot works without the server until the borrow ends. So a borrow is leased
 * to one device alone, the first that sent a nonce; it is known by the digest of that nonce.
 */

/** The refusal of a lease for another device than the one that has this user's borrow. */
export function checkLeasedElsewhere(
  { pool, terms }: License,
  user: string,
  nonceDigest: string | null,
  at: Instant,
): Fault | null {
  if (nonceDigest === null) return null;
  const held = findHeldSlot(pool, user, at);
  const until = held === null ? null : getBorrowEnd(held, at);
  if (held === null || until === null) return null;
  if (held.leasedTo === null || held.leasedTo === nonceDigest) return null;
  return { code: "leased_elsewhere", until, canReturn: terms.earlyReturn };
}

/** The device that has this slot's borrow; null: none, or the slot is not borrowed any more. */
export const findLeasedDevice = (held: Registration | null, at: Instant): string | null =>
  held === null || getBorrowEnd(held, at) === null ? null : held.leasedTo;

/**
 * When the lease of a slot ends: with the slot, but no later than its license allows. A slot can
 * outlast both the license's end, by its time-out, and the terms of a renewal, by its borrow.
 */
export function computeLeaseEnd(terms: Terms, end: Instant, at: Instant): Instant {
  const { timeoutMinutes, borrowHours } = terms;
  const longest = Math.max(timeoutMinutes * MINUTE, (borrowHours ?? 0) * HOUR);
  return earliest(earliest(end, later(at, longest)), getLicenseEnd(terms) ?? end);
}
