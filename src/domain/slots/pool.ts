import { ExpiryIndex, type ExpiringItem } from "../index/expiry-index.ts";
import { compareBySlot, SortedList, type SlotKeyed } from "../index/sorted-list.ts";
import { ShardedMap } from "../index/sharded-map.ts";
import type { Instant } from "../time.ts";

/** A user who holds a slot. */
export interface SlotHolder extends ExpiringItem {
  readonly user: string;
  end: Instant;
}

/**
 * The holders of slots, indexed by user, by slot and by end. Ended ones stay until their expiry is
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

  add(holder: T): void {
    if (this.get(holder.user) !== undefined) throw new Error("a slot was taken twice by one user");
    this.#byUser.set(holder.user, holder);
    this.#bySlot.add(holder);
    this.#byEnd.add(holder);
  }

  remove(holder: T): void {
    this.#byEnd.remove(holder);
    this.#bySlot.remove(holder);
    this.#byUser.delete(holder.user);
  }

  changeEnd(holder: T, end: Instant): void {
    this.#byEnd.remove(holder);
    holder.end = end;
    this.#byEnd.add(holder);
  }

  /**
   * The holders after a slot number, in slot order. The pool must not change during the iteration.
   */
  inSlotOrder(after = -1): Iterable<T> {
    return this.#bySlot.startingAt({ slot: after + 1 });
  }
}
