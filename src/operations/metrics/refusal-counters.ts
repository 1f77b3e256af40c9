/** What a refused request wanted: something of a product, or of one of its features. */
export type RefusalScope = "product" | "feature";

interface RefusalCount {
  readonly scope: RefusalScope;
  readonly code: string;
  count: number;
}

/** So a product has at most 26 series of refusals, each count with the time of its creation. */
const MAX_COUNTS = 13;

/** Refusals for want of a slot are there from the start, so that their rates are known. */
const DEMAND: readonly (readonly [RefusalScope, string])[] = [
  ["product", "floating_not_available"],
  ["feature", "floating_not_available"],
  ["product", "slots_capped"],
];

/** Counts refusals since the start, by product, scope and code. */
export class RefusalCounters {
  readonly #products = new Map<string, Map<string, RefusalCount>>();

  /** `product` must be an installed one; null: the request named none. */
  count(product: string | null, scope: RefusalScope, code: string): void {
    this.#find(this.#countsOf(product ?? ""), scope, code).count += 1;
  }

  /** The counts of a product; of requests without an installed product: the empty name. */
  list(product: string): Iterable<Readonly<RefusalCount>> {
    return this.#countsOf(product).values();
  }

  #countsOf(product: string): Map<string, RefusalCount> {
    const existing = this.#products.get(product);
    if (existing !== undefined) return existing;
    const counts = new Map<string, RefusalCount>();
    this.#products.set(product, counts);
    for (const [scope, code] of DEMAND) this.#find(counts, scope, code);
    return counts;
  }

  #find(counts: Map<string, RefusalCount>, scope: RefusalScope, code: string): RefusalCount {
    const key = `${scope} ${code}`;
    const existing = counts.get(key);
    if (existing !== undefined) return existing;
    // The last two places are for the rest of each scope.
    if (counts.size >= MAX_COUNTS - 2 && code !== OTHER) return this.#find(counts, scope, OTHER);
    const created: RefusalCount = { scope, code, count: 0 };
    counts.set(key, created);
    return created;
  }
}

const OTHER = "other";
