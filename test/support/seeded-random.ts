import { createRandom } from "./suite-harness.ts";

/** Reproducible random choices from a seed. */
export class SeededRandom {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = createRandom(seed);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** An integer from 0 to `count` - 1. */
  intBelow(count: number): number {
    return Math.floor(this.#random() * count);
  }

  /** An integer from `min` to `max`, both included. */
  intBetween(min: number, max: number): number {
    return min + this.intBelow(max - min + 1);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.intBelow(items.length)];
    if (item === undefined) throw new Error("there is nothing to pick from");
    return item;
  }

  /** Picks a name with a probability in proportion to its weight. */
  pickWeighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const names = Object.keys(weights) as K[];
    let rest = this.#random() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      rest -= weights[name];
      if (rest < 0) return name;
    }
    return this.pick(names);
  }
}
