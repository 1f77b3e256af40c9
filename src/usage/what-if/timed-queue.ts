import type { Instant } from "../../domain/time.ts";

interface Entry<T> {
  readonly at: Instant;
  /** Entries of the same instant leave in the order in which they came. */
  readonly order: number;
  readonly item: T;
}

/** A heap: the entry with the earliest time is first. */
export class TimedQueue<T> {
  readonly #entries: Entry<T>[] = [];
  #count = 0;

  add(at: Instant, item: T): void {
    const entry = { at, order: (this.#count += 1), item };
    let index = this.#entries.length;
    for (;;) {
      const parent = this.#entries[(index - 1) >> 1];
      if (index === 0 || parent === undefined || isBefore(parent, entry)) break;
      this.#entries[index] = parent;
      index = (index - 1) >> 1;
    }
    this.#entries[index] = entry;
  }

  takeFirst(): T | null {
    const first = this.#entries[0] ?? null;
    const last = this.#entries.pop();
    if (last === undefined || first === null) return null;
    if (this.#entries.length > 0) this.#sink(last);
    return first.item;
  }

  #sink(entry: Entry<T>): void {
    let index = 0;
    for (;;) {
      const [left, right] = [this.#entries[2 * index + 1], this.#entries[2 * index + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || isBefore(entry, child)) break;
      this.#entries[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    this.#entries[index] = entry;
  }
}

const isBefore = <T>(a: Entry<T>, b: Entry<T>): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);
