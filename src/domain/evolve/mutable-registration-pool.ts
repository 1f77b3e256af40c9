import { ExpiryIndex, type ExpiringItem } from "../index/expiry-index.ts";
import type { Registration, RegistrationPool } from "../model/slots/registration.ts";
import type { Instant } from "../time.ts";
import { MutableSlotPool } from "./mutable-slot-pool.ts";

type MutableRegistration = { -readonly [K in keyof Registration]: Registration[K] };

/** What is known of a borrow; null: the registration is not borrowed. */
interface Borrow {
  readonly until: Instant;
  readonly at: Instant;
  readonly leasedTo: string | null;
}

/** The registrations of a license, with an index of the ends of their borrows. */
export class MutableRegistrationPool
  extends MutableSlotPool<MutableRegistration>
  implements RegistrationPool
{
  readonly #borrows = new Map<number, ExpiringItem>();
  readonly #borrowEnds = new ExpiryIndex<ExpiringItem>();

  override add(registration: MutableRegistration): void {
    super.add(registration);
    this.#indexBorrow(registration.slot, registration.borrowedUntil);
  }

  override addAll(registrations: readonly MutableRegistration[]): void {
    super.addAll(registrations);
    const borrows: ExpiringItem[] = [];
    for (const { slot, borrowedUntil } of registrations) {
      if (borrowedUntil === null) continue;
      const borrow = { slot, end: borrowedUntil };
      this.#borrows.set(slot, borrow);
      borrows.push(borrow);
    }
    this.#borrowEnds.addAll(borrows);
  }

  override remove(registration: MutableRegistration): void {
    super.remove(registration);
    this.#indexBorrow(registration.slot, null);
  }

  /** The only way to change a borrow of a registration in this pool: it keeps the index right. */
  setBorrow(registration: MutableRegistration, borrow: Borrow | null): void {
    this.#indexBorrow(registration.slot, borrow?.until ?? null);
    registration.borrowedUntil = borrow?.until ?? null;
    registration.borrowedAt = borrow?.at ?? null;
    registration.leasedTo = borrow?.leasedTo ?? null;
  }

  countBorrowed(at: Instant): number {
    return this.#borrows.size - this.#borrowEnds.countEnded(at);
  }

  #indexBorrow(slot: number, until: Instant | null): void {
    const indexed = this.#borrows.get(slot);
    if (indexed !== undefined) {
      this.#borrowEnds.remove(indexed);
      this.#borrows.delete(slot);
    }
    if (until === null) return;
    const borrow: ExpiringItem = { slot, end: until };
    this.#borrows.set(slot, borrow);
    this.#borrowEnds.add(borrow);
  }
}
