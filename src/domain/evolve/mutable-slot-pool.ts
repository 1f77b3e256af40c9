import { ExpiryIndex } from "../index/expiry-index.ts";
import { LargeMap } from "../index/large-map.ts";
import { compareBySlot, SortedList, type SlotKeyed } from "../index/sorted-list.ts";
import type { SlotHolder, SlotPool } from "../model/slots/pool.ts";
import type { Instant } from "../time.ts";

export interface MutableSlotHolder extends SlotHolder {
  end: Instant;
}

/** A pool that holders can be added to, with an index for each order. */
export class MutableSlotPool<T extends MutableSlotHolder> implements SlotPool<T> {
  readonly #byUser = new LargeMap<T>(({ user }) => user);
  readonly #bySlot = new SortedList<T, SlotKeyed>(compareBySlot);
  readonly #byEnd = new ExpiryIndex<T>();

  get size(): number {
    return this.#byUser.size;
  }

  get expiryIndex(): Pick<
    ExpiryIndex<T>,
    "countEnded" | "ended" | "endingBetween" | "nthEnd" | "sample"
  > {
    return this.#byEnd;
  }

  get(user: string): T | undefined {
    return this.#byUser.get(user);
  }

  add(holder: T): void {
    this.#addByUserAndSlot(holder);
    this.#byEnd.add(holder);
  }

  /** Faster than adding one holder after the other. */
  addAll(holders: readonly T[]): void {
    for (const holder of holders) this.#addByUserAndSlot(holder);
    this.#byEnd.addAll(holders);
  }

  #addByUserAndSlot(holder: T): void {
    if (this.#byUser.addIfAbsent(holder) !== undefined)
      throw new Error("a slot was taken twice by one user");
    this.#bySlot.add(holder);
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

  inSlotOrder(after = -1): Iterable<T> {
    return this.#bySlot.startingAt({ slot: after + 1 });
  }
}
