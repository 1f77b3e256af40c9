import { lastItem, SortedList, type SlotKeyed } from "./sorted-list.ts";
import type { Instant } from "../time.ts";

export interface ExpiringItem extends SlotKeyed {
  readonly end: Instant;
}

/** Slot holders ordered by when they end. */
export class ExpiryIndex<T extends ExpiringItem> extends SortedList<T, ExpiringItem> {
  constructor() {
    super((a, b) => a.end - b.end || a.slot - b.slot);
  }

  /** The same as adding each: much faster, because nearly all then belong at the end. */
  addAll(items: readonly T[]): void {
    for (const item of sortByEnd(items)) this.add(item);
  }

  /** The number of items that have ended: end ≤ now. */
  countEnded(now: Instant): number {
    let count = 0;
    for (const chunk of this.chunks) {
      // The usual case: ended items are soon removed.
      if (chunk[0] !== undefined && chunk[0].end > now) return count;
      if (lastItem(chunk).end > now) return count + this.findIndex(chunk, justAfter(now));
      count += chunk.length;
    }
    return count;
  }

  /** The first `limit` items that have ended, the earliest end first. */
  ended(now: Instant, limit: number): T[] {
    const endedItems: T[] = [];
    for (const chunk of this.chunks) {
      for (const item of chunk) {
        if (item.end > now || endedItems.length >= limit) return endedItems;
        endedItems.push(item);
      }
    }
    return endedItems;
  }

  /** The items with from ≤ end ≤ to. The index must not change during the iteration. */
  *endingBetween(from: Instant, to: Instant): Generator<T, void> {
    for (const item of this.startingAt({ end: from, slot: 0 })) {
      if (item.end > to) return;
      yield item;
    }
  }

  /**
   * At most `count` items that have not ended, at even distances in the order of their ends. The
   * cost does not grow with the number of items, except for one step per chunk.
   */
  sample(count: number, now: Instant): T[] {
    let size = -this.countEnded(now);
    for (const chunk of this.chunks) size += chunk.length;
    const distance = Math.max(1, size / count);
    const sampled: T[] = [];
    let [next, passed] = [this.countEnded(now) + distance / 2, 0];
    for (const chunk of this.chunks) {
      for (; next < passed + chunk.length; next += distance) {
        const item = chunk[Math.floor(next) - passed];
        if (item !== undefined) sampled.push(item);
      }
      passed += chunk.length;
    }
    return sampled;
  }

  /** The end of the n-th item that has not ended yet; null: there are fewer. */
  nthEnd(n: number, now: Instant): Instant | null {
    const probe = justAfter(now);
    let chunkIndex = this.findChunk(probe);
    let chunk = this.chunks[chunkIndex];
    let index = chunk === undefined ? 0 : this.findIndex(chunk, probe) + n - 1;
    while (chunk !== undefined && index >= chunk.length) {
      index -= chunk.length;
      chunkIndex += 1;
      chunk = this.chunks[chunkIndex];
    }
    return chunk?.[index]?.end ?? null;
  }
}

/** Sorts after everything that ends at `now` and before everything that ends later. */
const justAfter = (now: Instant): ExpiringItem => ({ end: now, slot: Infinity });

/** Sorted numbers consist of an end and an index, and must be exact. */
const MAX_END_PART = 2 ** 52;

/**
 * The items by their ends, the earliest first. If a number cannot express how far apart the ends
 * are, ends that nearly are the same keep their order.
 */
function sortByEnd<T extends ExpiringItem>(items: readonly T[]): readonly T[] {
  const { length } = items;
  let [first, last] = [Infinity, -Infinity];
  let isSorted = true;
  for (const { end } of items) {
    if (end < last) isSorted = false;
    first = Math.min(first, end);
    last = Math.max(last, end);
  }
  if (isSorted) return items;
  // Numbers are sorted in a fifth of the time that objects take.
  const keys = new Float64Array(length);
  const unit = Math.ceil(((last - first + 1) * length) / MAX_END_PART);
  let index = 0;
  for (const { end } of items) {
    keys[index] = Math.floor((end - first) / unit) * length + index;
    index += 1;
  }
  const sorted: T[] = [];
  for (const key of keys.toSorted()) {
    const item = items[key - Math.floor(key / length) * length];
    if (item !== undefined) sorted.push(item);
  }
  return sorted;
}
