/** A change moves half a chunk on average, and now and then the list of chunks. */
const CHUNK_SIZE = 128;

/** Items are identified by their slot number, which is unique within a site. */
export interface SlotKeyed {
  readonly slot: number;
}

/**
 * A sorted list in chunks of bounded size. Finding an item takes two binary searches, and a change
 * copies at most two chunks, whatever the number of items. All arrays are short, because the
 * garbage collector scans an array in one step.
 *
 * The sort key of an item must not change while it is in the list: remove it, change it, add it
 * again.
 */
export class SortedList<T extends K, K = T> {
  protected readonly chunks: T[][] = [];
  readonly #compare: (a: K, b: K) => number;

  constructor(compare: (a: K, b: K) => number) {
    this.#compare = compare;
  }

  add(item: T): void {
    const lastChunk = this.chunks.at(-1);
    if (lastChunk === undefined || this.#compare(lastItem(lastChunk), item) < 0) {
      return this.#append(item, lastChunk);
    }
    const chunkIndex = this.findChunk(item);
    const chunk = this.chunks[chunkIndex] ?? lastChunk;
    chunk.splice(this.findIndex(chunk, item), 0, item);
    if (chunk.length > 2 * CHUNK_SIZE)
      this.chunks.splice(chunkIndex + 1, 0, chunk.splice(CHUNK_SIZE));
  }

  /** Appends without a search: nearly all new items belong at the end. */
  #append(item: T, lastChunk: T[] | undefined): void {
    if (lastChunk !== undefined && lastChunk.length < CHUNK_SIZE) lastChunk.push(item);
    else this.chunks.push([item]);
  }

  remove(item: T): void {
    const chunkIndex = this.findChunk(item);
    const chunk = this.chunks[chunkIndex];
    const index = chunk === undefined ? -1 : this.findIndex(chunk, item);
    if (chunk?.[index] !== item) throw new Error("an item to remove is not in the list");
    chunk.splice(index, 1);
    if (chunk.length === 0) this.chunks.splice(chunkIndex, 1);
  }

  /** How many items are before this one; steps over chunks, not over items. */
  countBefore(item: K): number {
    const chunkIndex = this.findChunk(item);
    let count = 0;
    for (let index = 0; index < chunkIndex; index += 1) count += this.chunks[index]?.length ?? 0;
    return count + this.findIndex(this.chunks[chunkIndex] ?? [], item);
  }

  get first(): T | null {
    return this.chunks[0]?.[0] ?? null;
  }

  get last(): T | null {
    return this.chunks.at(-1)?.at(-1) ?? null;
  }

  get isEmpty(): boolean {
    return this.chunks.length === 0;
  }

  /** The list must not change during the iteration. */
  *all(): Generator<T, void> {
    for (const chunk of this.chunks) yield* chunk;
  }

  /** All items from `first` on. The list must not change during the iteration. */
  *startingAt(first: K): Generator<T, void> {
    const chunkIndex = this.findChunk(first);
    const firstChunk = this.chunks[chunkIndex] ?? [];
    yield* firstChunk.slice(this.findIndex(firstChunk, first));
    for (let index = chunkIndex + 1; index < this.chunks.length; index += 1)
      yield* this.chunks[index] ?? [];
  }

  /** The first chunk whose last item is not before `item`. */
  protected findChunk(item: K): number {
    let low = 0;
    let high = this.chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const chunk = this.chunks[middle];
      if (chunk !== undefined && this.#compare(lastItem(chunk), item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The index in a chunk of the first item that is not before `item`. */
  protected findIndex(chunk: readonly K[], item: K): number {
    let low = 0;
    let high = chunk.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = chunk[middle];
      if (other !== undefined && this.#compare(other, item) < 0) low = middle + 1;
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
