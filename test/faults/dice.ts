import { generator } from "./rig.ts";

/** Chance from a seed, in the words a simulation needs. */
export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = generator(seed);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** One of the names, as often as its weight says. */
  weighed<K extends string>(weights: Readonly<Record<K, number>>): K {
    const names = Object.keys(weights) as K[];
    let rest = this.#random() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      rest -= weights[name];
      if (rest < 0) return name;
    }
    return this.pick(names);
  }
}
