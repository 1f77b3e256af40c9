import { ExpiryIndex, type ExpiringItem } from "./expiry-index.ts";
import { compareBySlot, SortedList, type SlotKeyed } from "./sorted-list.ts";
import { ShardedMap } from "./sharded-map.ts";
import type { Instant } from "./time.ts";

/** Somebody with a slot. */
export interface SlotHolder extends ExpiringItem {
  readonly user: string;
  end: Instant;
}

/**
 * Who holds slots: by user, by slot, and by when they end. Ended ones stay until their expiry is
 * written.
 */
export class SlotPool<T extends SlotHolder> {
  readonly #byUser = new ShardedMap<T>();
  readonly #bySlot = new SortedList<T, SlotKeyed>(compareBySlot);
  readonly #byEnd = new ExpiryIndex<T>();

  get size(): number {
    return this.#byUser.size;
  }

  get expiryIndex(): Pick<ExpiryIndex<T>, "countEnded" | "ended" | "nthEnd"> {
    return this.#byEnd;
  }

  get(user: string): T | undefined {
    return this.#byUser.get(user);
  }

  add(held: T): void {
    if (this.get(held.user) !== undefined) throw new Error("a slot was taken twice by one user");
    this.#byUser.set(held.user, held);
    this.#bySlot.add(held);
    this.#byEnd.add(held);
  }

  remove(held: T): void {
    this.#byEnd.remove(held);
    this.#bySlot.remove(held);
    this.#byUser.delete(held.user);
  }

  /** It ends at another time. */
  changeEnd(held: T, end: Instant): void {
    this.#byEnd.remove(held);
    held.end = end;
    this.#byEnd.add(held);
  }

  /** Those after a slot, the longest held first; none may come or go before the end of it. */
  inSlotOrder(after = -1): Iterable<T> {
    return this.#bySlot.startingAt({ slot: after + 1 });
  }
}
