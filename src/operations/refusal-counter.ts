import type { RefusalCount } from "../domain/command.ts";
import { limits } from "../domain/limits.ts";

interface Bucket {
  readonly product: string | null;
  readonly code: string;
  count: number;
  readonly users: string[];
}

/**
 * Refusals since the last time somebody asked: counted by product and code, with the last few
 * users, so that a thousand denied clients become one line of the record and not a thousand.
 */
export class RefusalCounter {
  readonly #buckets = new Map<string, Bucket>();

  /** `product` must be one that is installed, or null: callers' guesses do not become buckets. */
  count(product: string | null, code: string, user: string | null): void {
    const bucket = this.#bucket(product, code);
    bucket.count += 1;
    if (user === null) return;
    const known = bucket.users.indexOf(user);
    if (known >= 0) bucket.users.splice(known, 1);
    bucket.users.push(user);
    if (bucket.users.length > limits.refusalUsers) bucket.users.shift();
  }

  /** What could not be written down yet counts with the next. */
  restore(refusals: readonly RefusalCount[]): void {
    for (const { product, code, count, users } of refusals) {
      const bucket = this.#bucket(product, code);
      bucket.count += count;
      bucket.users.unshift(...users);
      bucket.users.splice(0, bucket.users.length - limits.refusalUsers);
    }
  }

  #bucket(product: string | null, code: string): Bucket {
    const key = JSON.stringify([product, code]);
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const bucket: Bucket = { product, code, count: 0, users: [] };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** Empties the tally. */
  drain(): RefusalCount[] {
    const taken = [...this.#buckets.values()];
    this.#buckets.clear();
    return taken;
  }
}
