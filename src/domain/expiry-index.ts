import type { Instant } from "./time.ts";

export interface Ending {
  readonly end: Instant;
  /** Unique within one index: tells apart what ends at the same instant. */
  readonly slot: number;
}

const CHUNK = 512;

/**
 * Everything that will end, ordered by when. Sorted chunks of bounded size: finding a place is two
 * binary searches, changing one is a copy of at most two chunks, whatever the number of items.
 *
 * An item's `end` must not change while it is inside: remove it, change it, add it again.
 */
export class ExpiryIndex<T extends Ending> {
  readonly #chunks: T[][] = [];

  add(item: T): void {
    const newest = this.#chunks.at(-1);
    if (newest === undefined || order(lastOf(newest), item) < 0) return this.#append(item, newest);
    const at = this.#chunkOf(item);
    const chunk = this.#chunks[at] ?? newest;
    chunk.splice(placeOf(chunk, item), 0, item);
    if (chunk.length > 2 * CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK));
  }

  /** Behind everything, without a search: where nearly every heartbeat puts its slot. */
  #append(item: T, newest: T[] | undefined): void {
    if (newest !== undefined && newest.length < CHUNK) newest.push(item);
    else this.#chunks.push([item]);
  }

  remove(item: T): void {
    const at = this.#chunkOf(item);
    const chunk = this.#chunks[at];
    const place = chunk === undefined ? -1 : placeOf(chunk, item);
    if (chunk?.[place] !== item) throw new Error(`slot ${item.slot} is not in the expiry index`);
    chunk.splice(place, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** How many have ended: end ≤ now. */
  countEnded(now: Instant): number {
    let count = 0;
    for (const chunk of this.#chunks) {
      // Nearly always: what has ended is soon written off.
      if (chunk[0] !== undefined && chunk[0].end > now) return count;
      if (lastOf(chunk).end > now) return count + placeOf(chunk, justAfter(now));
      count += chunk.length;
    }
    return count;
  }

  /** The first `limit` that have ended, the longest gone first. */
  ended(now: Instant, limit: number): T[] {
    const found: T[] = [];
    for (const chunk of this.#chunks) {
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
    let at = this.#chunkOf(probe);
    let chunk = this.#chunks[at];
    let place = chunk === undefined ? 0 : placeOf(chunk, probe) + n - 1;
    while (chunk !== undefined && place >= chunk.length) {
      place -= chunk.length;
      at += 1;
      chunk = this.#chunks[at];
    }
    return chunk?.[place]?.end ?? null;
  }

  /** The first chunk whose last item is not before `item`. */
  #chunkOf(item: Ending): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const chunk = this.#chunks[middle];
      if (chunk !== undefined && order(lastOf(chunk), item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Sorts behind everything that ends at `now` and before everything that ends later. */
const justAfter = (now: Instant): Ending => ({ end: now, slot: Infinity });

const order = (a: Ending, b: Ending): number => a.end - b.end || a.slot - b.slot;

function placeOf(chunk: readonly Ending[], item: Ending): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = chunk[middle];
    if (other !== undefined && order(other, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function lastOf<T>(chunk: readonly T[]): T {
  const last = chunk.at(-1);
  if (last === undefined) throw new Error("the expiry index holds an empty chunk");
  return last;
}
