import type { ExpiringItem, ExpiryIndex } from "../../index/expiry-index.ts";
import type { Instant } from "../../time.ts";

/** A user who holds a slot. */
export interface SlotHolder extends ExpiringItem {
  readonly user: string;
}

/**
 * The holders of slots, by user, by slot and by end. Ended ones stay until their expiry is written.
 */
export interface SlotPool<T extends SlotHolder> {
  readonly size: number;
  readonly expiryIndex: Pick<
    ExpiryIndex<T>,
    "countEnded" | "ended" | "endingBetween" | "nthEnd" | "sample"
  >;
  get(user: string): T | undefined;
  /**
   * The holders after a slot number, in slot order. The pool must not change during the iteration.
   */
  inSlotOrder(after?: number): Iterable<T>;
}

/** Slots taken at this instant, whether or not the expired ones are removed yet. */
export const countSlotsInUse = (pool: SlotPool<SlotHolder>, at: Instant): number =>
  pool.size - pool.expiryIndex.countEnded(at);

/** The user's slot if it is held at this instant; null: it is not. */
export function findHeldSlot<T extends SlotHolder>(
  pool: SlotPool<T>,
  user: string,
  at: Instant,
): T | null {
  const holder = pool.get(user);
  return holder !== undefined && at < holder.end ? holder : null;
}
