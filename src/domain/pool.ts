import { ExpiryIndex, type Ending } from "./expiry-index.ts";
import { bySlot, Ordered, type Slotted } from "./ordered.ts";
import { ShardedMap } from "./sharded-map.ts";
import type { Instant } from "./time.ts";

/** Somebody with a slot. */
export interface Holder extends Ending {
  readonly user: string;
  end: Instant;
}

/**
 * Who holds slots: by user, by slot, and by when they end. Ended ones stay until their expiry is
 * written.
 */
export class Pool<T extends Holder> {
  readonly #byUser = new ShardedMap<T>();
  readonly #bySlot = new Ordered<T, Slotted>(bySlot);
  readonly #byEnd = new ExpiryIndex<T>();

  get size(): number {
    return this.#byUser.size;
  }

  get ends(): Pick<ExpiryIndex<T>, "countEnded" | "ended" | "nthEnd"> {
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
  move(held: T, end: Instant): void {
    this.#byEnd.remove(held);
    held.end = end;
    this.#byEnd.add(held);
  }

  /** Those after a slot, the longest held first; none may come or go before the end of it. */
  inOrder(after = -1): Iterable<T> {
    return this.#bySlot.from({ slot: after + 1 });
  }
}
