import type { Identity } from "../rules/caller-facts.ts";
import type { Contact } from "./contact.ts";
import type { SlotHolder, SlotPool } from "./pool.ts";
import type { Instant } from "../../time.ts";

export interface BaseRegistration extends SlotHolder {
  readonly registeredAt: Instant;
  /**
   * When `end` was set: a set-back of the clock moves only values that were set under the wrong
   * clock.
   */
  readonly setAt: Instant;
}

/** Depends on a slot of the license: it ends with that slot, or earlier by its own timeout. */
export interface FeatureRegistration extends BaseRegistration {
  readonly timeoutAt: Instant;
  /** From where the slot was taken; the host is that of the license's slot. */
  readonly takenFrom: Pick<Contact, "hostname" | "peer">;
  readonly identity: Identity | null;
}

export interface Registration extends BaseRegistration {
  readonly contact: Contact;
  /** When the slot was taken, borrowed or renewed last. Later than `setAt` only in a borrow. */
  readonly lastSeenAt: Instant;
  readonly borrowedUntil: Instant | null;
  /** When `borrowedUntil` was set; null while that is null. */
  readonly borrowedAt: Instant | null;
  /** SHA-256, hex, of the nonce of the device that the borrow is leased to; null: none yet. */
  readonly leasedTo: string | null;
  /** When a changed contact was last audited; null: never since the slot was taken. */
  readonly contactAuditedAt: Instant | null;
  /** The current contact is not in the audit log yet. */
  readonly isContactUnaudited: boolean;
  /** The contact when the slot was taken. It is the same object until the contact changes. */
  readonly takenFrom: Contact;
  /** What was observed of the caller when the slot was taken; null: only its address. */
  readonly identity: Identity | null;
}

/** When this slot's borrow ends; null: it is not borrowed, or no longer. */
export const getBorrowEnd = ({ borrowedUntil }: Registration, at: Instant): Instant | null =>
  borrowedUntil !== null && at < borrowedUntil ? borrowedUntil : null;

/** The slots of a license. */
export interface RegistrationPool extends SlotPool<Registration> {
  /** The slots whose borrow has not ended; its cost does not grow with the number of slots. */
  countBorrowed(at: Instant): number;
}

/** A borrow that ended by a clock that may have been wrong: its lease may still be valid. */
export interface LapsedBorrow {
  readonly license: number;
  readonly user: string;
  readonly slot: number;
  readonly registeredAt: Instant;
  readonly contact: Contact;
  readonly borrowedUntil: Instant;
  readonly borrowedAt: Instant;
  readonly leasedTo: string | null;
  /** Absent: the same as `contact`. */
  readonly takenFrom?: Contact;
  /** Absent: null. */
  readonly identity?: Identity;
}
