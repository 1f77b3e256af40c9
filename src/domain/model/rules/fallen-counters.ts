/**
 * Which counters fell, among those that users wait for. A reader learns of a fall once, and then
 * has to watch the counter again.
 */
export class FallenCounters {
  readonly #watched = new Map<string, Set<string>>();
  readonly #fallen = new Map<string, Set<string>>();

  watch(product: string, key: string): void {
    addTo(this.#watched, product, key);
  }

  hasWatched(product: string): boolean {
    return this.#watched.has(product);
  }

  report(product: string, key: string): void {
    const watched = this.#watched.get(product);
    if (watched?.delete(key) !== true) return;
    if (watched.size === 0) this.#watched.delete(product);
    addTo(this.#fallen, product, key);
  }

  /** After the rules or all counters changed: everything that is watched may be free. */
  reportAll(): void {
    for (const [product, keys] of this.#watched)
      for (const key of keys) addTo(this.#fallen, product, key);
    this.#watched.clear();
  }

  /** The counters of a product that fell since the last call. */
  take(product: string): readonly string[] {
    const keys = this.#fallen.get(product);
    if (keys === undefined) return [];
    this.#fallen.delete(product);
    return [...keys];
  }
}

function addTo(keys: Map<string, Set<string>>, product: string, key: string): void {
  const ofProduct = keys.get(product);
  if (ofProduct === undefined) keys.set(product, new Set([key]));
  else ofProduct.add(key);
}
