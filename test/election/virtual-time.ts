// Time that only the simulation moves: what is due next runs next, and then everything that it
// resolves.

interface DueWork {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class VirtualTime {
  now = 0;
  #order = 0;
  /** A heap: the earliest is first. */
  readonly #queue: DueWork[] = [];

  /** Runs `work` when so many milliseconds have passed. */
  after(milliseconds: number, work: () => void): void {
    this.#order += 1;
    this.#push({ at: this.now + Math.max(0, milliseconds), order: this.#order, run: work });
  }

  /** Runs everything until that time; `check` is called after each piece of work. */
  async runUntil(end: number, check: () => void): Promise<void> {
    for (;;) {
      const next = this.#queue[0];
      if (next === undefined || next.at > end) break;
      this.#pop();
      this.now = next.at;
      next.run();
      await settle();
      check();
    }
    this.now = end;
  }

  #push(work: DueWork): void {
    const queue = this.#queue;
    let index = queue.push(work) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (isBefore(queue[parent], work)) break;
      swap(queue, index, parent);
      index = parent;
    }
  }

  #pop(): void {
    const queue = this.#queue;
    swap(queue, 0, queue.length - 1);
    queue.pop();
    for (let index = 0; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let first = index;
      if (left < queue.length && isBefore(queue[left], queue[first])) first = left;
      if (right < queue.length && isBefore(queue[right], queue[first])) first = right;
      if (first === index) return;
      swap(queue, index, first);
      index = first;
    }
  }
}

const isBefore = (one: DueWork | undefined, two: DueWork | undefined): boolean =>
  one !== undefined &&
  two !== undefined &&
  (one.at < two.at || (one.at === two.at && one.order < two.order));

function swap(queue: DueWork[], one: number, two: number): void {
  const [first, second] = [queue[one], queue[two]];
  if (first === undefined || second === undefined) return;
  queue[one] = second;
  queue[two] = first;
}

/** Everything that can go on without time does. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
