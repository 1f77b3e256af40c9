import type { RefusalCount } from "../../domain/audit/count-refusals.ts";
import { limits } from "../../domain/model/limits.ts";
import type { RefusalSubject } from "../demand/demand-of-command.ts";

interface Bucket extends RefusalSubject {
  readonly code: string;
  count: number;
  readonly users: string[];
}

/**
 * Counts refusals since the last `drain` by product, feature and code, with the last few users. So
 * a thousand refused requests become one line of the audit log.
 */
export class RefusalCounter {
  readonly #buckets = new Map<string, Bucket>();

  count(subject: RefusalSubject, code: string, user: string | null): void {
    const bucket = this.#getBucket(subject, code);
    bucket.count += 1;
    if (user === null) return;
    const index = bucket.users.indexOf(user);
    if (index >= 0) bucket.users.splice(index, 1);
    bucket.users.push(user);
    if (bucket.users.length > limits.refusalUsers) bucket.users.shift();
  }

  /** Puts back counts that could not be written, so that the next write includes them. */
  restore(refusals: readonly RefusalCount[]): void {
    for (const { product, feature, code, count, users } of refusals) {
      const bucket = this.#getBucket({ product, feature }, code);
      bucket.count += count;
      bucket.users.unshift(...users);
      bucket.users.splice(0, bucket.users.length - limits.refusalUsers);
    }
  }

  #getBucket({ product, feature }: RefusalSubject, code: string): Bucket {
    const key = JSON.stringify([product, feature, code]);
    const existing = this.#buckets.get(key);
    if (existing !== undefined) return existing;
    const bucket: Bucket = { product, feature, code, count: 0, users: [] };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** Returns all counts and resets them. */
  drain(): RefusalCount[] {
    const counts = [...this.#buckets.values()];
    this.#buckets.clear();
    return counts;
  }
}
