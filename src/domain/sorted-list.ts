const CHUNK = 512;

/** What can be ordered is known by its slot, which no other one has: a site counts them once. */
export interface SlotKeyed {
  readonly slot: number;
}

/**
 * Items in an order, in sorted chunks of bounded size: finding a place is two binary searches,
 * changing one is a copy of at most two chunks, whatever the number of items. Nothing in here is
 * long, so the collector, which goes through an array in one go, holds nobody up.
 *
 * Where an item belongs must not change while it is inside: remove it, change it, add it again.
 */
export class SortedList<T extends K, K extends SlotKeyed = T> {
  protected readonly chunks: T[][] = [];
  readonly #order: (a: K, b: K) => number;

  constructor(order: (a: K, b: K) => number) {
    this.#order = order;
  }

  add(item: T): void {
    const newest = this.chunks.at(-1);
    if (newest === undefined || this.#order(lastItem(newest), item) < 0) {
      return this.#append(item, newest);
    }
    const at = this.findChunk(item);
    const chunk = this.chunks[at] ?? newest;
    chunk.splice(this.findIndex(chunk, item), 0, item);
    if (chunk.length > 2 * CHUNK) this.chunks.splice(at + 1, 0, chunk.splice(CHUNK));
  }

  /** Behind everything, without a search: where nearly everything new belongs. */
  #append(item: T, newest: T[] | undefined): void {
    if (newest !== undefined && newest.length < CHUNK) newest.push(item);
    else this.chunks.push([item]);
  }

  remove(item: T): void {
    const at = this.findChunk(item);
    const chunk = this.chunks[at];
    const place = chunk === undefined ? -1 : this.findIndex(chunk, item);
    if (chunk?.[place] !== item) throw new Error(`slot ${item.slot} is not where it belongs`);
    chunk.splice(place, 1);
    if (chunk.length === 0) this.chunks.splice(at, 1);
  }

  get first(): T | null {
    return this.chunks[0]?.[0] ?? null;
  }

  get isEmpty(): boolean {
    return this.chunks.length === 0;
  }

  /** Nobody may be added or removed before the end of it. */
  *all(): Generator<T, void> {
    for (const chunk of this.chunks) yield* chunk;
  }

  /** Everything that is not before `first`; for its use the same holds. */
  *startingAt(first: K): Generator<T, void> {
    const at = this.findChunk(first);
    const begun = this.chunks[at] ?? [];
    yield* begun.slice(this.findIndex(begun, first));
    for (let next = at + 1; next < this.chunks.length; next += 1) yield* this.chunks[next] ?? [];
  }

  /** The first chunk whose last item is not before `item`. */
  protected findChunk(item: K): number {
    let low = 0;
    let high = this.chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const chunk = this.chunks[middle];
      if (chunk !== undefined && this.#order(lastItem(chunk), item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Where in a chunk the first item is that is not before `item`. */
  protected findIndex(chunk: readonly K[], item: K): number {
    let low = 0;
    let high = chunk.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = chunk[middle];
      if (other !== undefined && this.#order(other, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export const compareBySlot = (a: SlotKeyed, b: SlotKeyed): number => a.slot - b.slot;

export function lastItem<T>(chunk: readonly T[]): T {
  const last = chunk.at(-1);
  if (last === undefined) throw new Error("a chunk is empty");
  return last;
}
