/** A slot as its reader names it: a user holds at most one slot of a license. */
export interface SlotRef {
  readonly license: number;
  readonly user: string;
}

/** Enough for a reader that comes every few seconds, also while many users start work. */
const CAPACITY = 4_096;

/**
 * Which slots changed last, so that a reader can update its copy of the list instead of reading all
 * of it again. Heartbeats are not in it, because they only move the end of a slot: the pools find
 * them by their ends.
 */
export class SlotChangeLog {
  /** A ring: change `n` is at `n % CAPACITY`. */
  readonly #changes: SlotRef[] = [];
  #count = 0;
  /** Changes before this one are unknown. */
  #oldest = 0;

  /** The number of changes so far: the position of a reader that has seen all of them. */
  get position(): number {
    return this.#count;
  }

  add(license: number, user: string): void {
    this.#changes[this.#count % CAPACITY] = { license, user };
    this.#count += 1;
  }

  /** After a change of every slot at once: all readers must read the whole list again. */
  forgetAll(): void {
    this.#count += 1;
    this.#oldest = this.#count;
  }

  /** The changes after this position, oldest first; null: some of them are not known any more. */
  since(position: number): readonly SlotRef[] | null {
    const oldest = Math.max(this.#oldest, this.#count - CAPACITY);
    if (position < oldest || position > this.#count) return null;
    const first = position % CAPACITY;
    const length = this.#count - position;
    const upToEnd = this.#changes.slice(first, first + length);
    return upToEnd.length === length
      ? upToEnd
      : [...upToEnd, ...this.#changes.slice(0, length - upToEnd.length)];
  }
}
