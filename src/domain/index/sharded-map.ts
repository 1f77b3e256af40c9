const SHARDS = 64;

/**
 * A map that may grow to a million entries, split into small ones. The garbage collector scans a
 * map in one step, and a growing map is copied in one step; requests wait during both.
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
    const shardIndex = shardOf(key);
    const shard = (this.#shards[shardIndex] ??= new Map<string, V>());
    const sizeBefore = shard.size;
    shard.set(key, value);
    this.#size += shard.size - sizeBefore;
  }

  delete(key: string): void {
    if (this.#shards[shardOf(key)]?.delete(key) === true) this.#size -= 1;
  }
}

/** Every character counts, because names of one site often begin and end alike. */
function shardOf(key: string): number {
  let hash = 0;
  for (let index = 0; index < key.length; index += 1)
    hash = (Math.imul(hash, 31) + key.charCodeAt(index)) | 0;
  // The lowest bits alone would depend on the last characters only.
  return (hash ^ (hash >>> 15)) & (SHARDS - 1);
}
