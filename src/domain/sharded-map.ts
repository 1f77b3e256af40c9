const SHARDS = 64;

/**
 * A map by name that may grow to a million entries, in many small ones: the collector goes through
 * a map in one go, and one that grows is copied in one go, and nobody is answered meanwhile.
 */
export class ShardedMap<V> {
  readonly #shards: (Map<string, V> | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#shards[shardOf(key)]?.get(key);
  }

  set(key: string, value: V): void {
    const at = shardOf(key);
    const shard = (this.#shards[at] ??= new Map<string, V>());
    const before = shard.size;
    shard.set(key, value);
    this.#size += shard.size - before;
  }

  delete(key: string): void {
    if (this.#shards[shardOf(key)]?.delete(key) === true) this.#size -= 1;
  }
}

/** Every character counts: names of one site begin and end alike. */
function shardOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  // The lowest bits alone would be those of the last characters.
  return (hash ^ (hash >>> 15)) & (SHARDS - 1);
}
