import type { Refusals } from "../domain/command.ts";
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
export class RefusalTally {
  readonly #buckets = new Map<string, Bucket>();

  /** `product` must be one that is installed, or null: callers' guesses do not become buckets. */
  note(product: string | null, code: string, user: string | null): void {
    const key = JSON.stringify([product, code]);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { product, code, count: 0, users: [] };
      this.#buckets.set(key, bucket);
    }
    bucket.count += 1;
    if (user === null) return;
    const known = bucket.users.indexOf(user);
    if (known >= 0) bucket.users.splice(known, 1);
    bucket.users.push(user);
    if (bucket.users.length > limits.refusalUsers) bucket.users.shift();
  }

  /** Empties the tally. */
  take(): Refusals[] {
    const taken = [...this.#buckets.values()];
    this.#buckets.clear();
    return taken;
  }
}
