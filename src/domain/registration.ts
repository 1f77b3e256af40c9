import type { SlotHolder } from "./pool.ts";
import type { Instant } from "./time.ts";

export interface BaseRegistration extends SlotHolder {
  registeredAt: Instant;
  /** When its end was set: a set-back of the clock moves only what was set in the wrong time. */
  setAt: Instant;
}

/** Held through a slot of the license: it ends with that one, or before, by its own timeout. */
export interface FeatureRegistration extends BaseRegistration {
  timeoutAt: Instant;
}

export interface Registration extends BaseRegistration {
  contact: Contact;
  borrowedUntil: Instant | null;
  /** When `borrowedUntil` was set; null while it is. */
  borrowedAt: Instant | null;
  /** SHA-256, hex, of the nonce of the device that the borrow is leased to; null: to none yet. */
  leasedTo: string | null;
  /** When a changed contact was last audited; null: not since the slot was taken. */
  contactAuditedAt: Instant | null;
  /** The audit log does not know yet that this is the contact. */
  isContactUnaudited: boolean;
}

/** Where the holder last spoke from: what it says of itself, and the address it came from. */
export interface Contact {
  readonly hostname: string;
  readonly ip: string;
  readonly info: string;
  readonly peer: string;
}

/** A borrow that ended by a clock that may have been wrong: its lease may still be good. */
export interface LapsedBorrow {
  readonly license: number;
  readonly user: string;
  readonly slot: number;
  readonly registeredAt: Instant;
  readonly contact: Contact;
  readonly borrowedUntil: Instant;
  readonly borrowedAt: Instant;
  readonly leasedTo: string | null;
}

/** Not borrowed, and heard from no other machine than this. */
export const newRegistration = (
  slot: number,
  user: string,
  registeredAt: Instant,
  end: Instant,
  contact: Contact,
): Registration => ({
  slot,
  user,
  registeredAt,
  end,
  setAt: registeredAt,
  contact,
  borrowedUntil: null,
  borrowedAt: null,
  leasedTo: null,
  contactAuditedAt: null,
  isContactUnaudited: false,
});
