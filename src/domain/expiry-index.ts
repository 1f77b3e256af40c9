import { lastItem, SortedList, type SlotKeyed } from "./sorted-list.ts";
import type { Instant } from "./time.ts";

export interface ExpiringItem extends SlotKeyed {
  readonly end: Instant;
}

/** Everything that will end, ordered by when. */
export class ExpiryIndex<T extends ExpiringItem> extends SortedList<T, ExpiringItem> {
  constructor() {
    super((a, b) => a.end - b.end || a.slot - b.slot);
  }

  /** How many have ended: end ≤ now. */
  countEnded(now: Instant): number {
    let count = 0;
    for (const chunk of this.chunks) {
      // Nearly always: what has ended is soon written off.
      if (chunk[0] !== undefined && chunk[0].end > now) return count;
      if (lastItem(chunk).end > now) return count + this.findIndex(chunk, justAfter(now));
      count += chunk.length;
    }
    return count;
  }

  /** The first `limit` that have ended, the longest gone first. */
  ended(now: Instant, limit: number): T[] {
    const found: T[] = [];
    for (const chunk of this.chunks) {
      for (const item of chunk) {
        if (item.end > now || found.length >= limit) return found;
        found.push(item);
      }
    }
    return found;
  }

  /** When the n-th of those ends that have not ended yet; null when there are fewer. */
  nthEnd(n: number, now: Instant): Instant | null {
    const probe = justAfter(now);
    let at = this.findChunk(probe);
    let chunk = this.chunks[at];
    let place = chunk === undefined ? 0 : this.findIndex(chunk, probe) + n - 1;
    while (chunk !== undefined && place >= chunk.length) {
      place -= chunk.length;
      at += 1;
      chunk = this.chunks[at];
    }
    return chunk?.[place]?.end ?? null;
  }
}

/** Sorts behind everything that ends at `now` and before everything that ends later. */
const justAfter = (now: Instant): ExpiringItem => ({ end: now, slot: Infinity });
