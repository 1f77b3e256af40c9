const FIRST_CAPACITY = 8;

/** The row at a free place. */
export const NO_ROW = -1;

/**
 * A hash table of row numbers. An entry is at the place that its hash selects, or at the next free
 * place after it. Different keys may have the same hash, so the caller compares the keys.
 */
export class RowTable {
  /** Hash and row of each place. */
  #entries = new Int32Array(2 * FIRST_CAPACITY).fill(NO_ROW);
  /** The number of places, a power of two, minus one. */
  #placeMask = FIRST_CAPACITY - 1;
  #size = 0;

  /** Entries with this hash are at this place or after it, before the next free place. */
  firstPlace(hash: number): number {
    return hash & this.#placeMask;
  }

  nextPlace(place: number): number {
    return (place + 1) & this.#placeMask;
  }

  hashAt(place: number): number {
    return this.#entries[2 * place] ?? 0;
  }

  rowAt(place: number): number {
    return this.#entries[2 * place + 1] ?? NO_ROW;
  }

  add(hash: number, row: number): void {
    // At most half of the places are taken: otherwise many entries were far from their own place.
    if (2 * this.#size > this.#placeMask) this.#grow();
    this.#size += 1;
    this.#insert(hash, row);
  }

  removeAt(place: number): void {
    this.#size -= 1;
    let free = place;
    // A search ends at a free place: entries behind it move up, unless they would come before the
    // place that their hash selects.
    for (
      let next = this.nextPlace(free);
      this.rowAt(next) !== NO_ROW;
      next = this.nextPlace(next)
    ) {
      const hash = this.hashAt(next);
      if (this.#distance(this.firstPlace(hash), next) < this.#distance(free, next)) continue;
      this.#setEntry(free, hash, this.rowAt(next));
      free = next;
    }
    this.#setEntry(free, 0, NO_ROW);
  }

  /** The number of steps to a place, which may lead over the end to the beginning. */
  #distance(from: number, to: number): number {
    return (to - from) & this.#placeMask;
  }

  #grow(): void {
    const previous = this.#entries;
    this.#entries = new Int32Array(2 * previous.length).fill(NO_ROW);
    this.#placeMask = previous.length - 1;
    for (let index = 0; index < previous.length; index += 2) {
      const row = previous[index + 1] ?? NO_ROW;
      if (row !== NO_ROW) this.#insert(previous[index] ?? 0, row);
    }
  }

  #insert(hash: number, row: number): void {
    let place = this.firstPlace(hash);
    while (this.rowAt(place) !== NO_ROW) place = this.nextPlace(place);
    this.#setEntry(place, hash, row);
  }

  #setEntry(place: number, hash: number, row: number): void {
    this.#entries[2 * place] = hash;
    this.#entries[2 * place + 1] = row;
  }
}
