import { createRandom } from "./suite-harness.ts";

/** Chance from a seed, in the words a simulation needs. */
export class SeededRandom {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = createRandom(seed);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** A whole number from 0 to `count` - 1. */
  intBelow(count: number): number {
    return Math.floor(this.#random() * count);
  }

  intBetween(least: number, most: number): number {
    return least + this.intBelow(most - least + 1);
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.intBelow(from.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** One of the names, as often as its weight says. */
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
