/**
 * Counts the requests of a listener that wait for a slot. They are not among those that it limits,
 * and the time that they wait does not make them slow.
 */
export class WaitingCount {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The request waits until the returned function is called. */
  begin(caller: { waitedMs: number } | null): () => void {
    const startedAt = performance.now();
    this.#count += 1;
    return () => {
      this.#count -= 1;
      if (caller !== null) caller.waitedMs += performance.now() - startedAt;
    };
  }
}
