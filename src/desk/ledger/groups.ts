/** Entries by a key, in the order in which they were added. */
export class Groups<Key, Entry> {
  readonly #groups = new Map<Key, Entry[]>();

  add(key: Key, entry: Entry): void {
    const group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, [entry]);
    else group.push(entry);
  }

  get(key: Key): readonly Entry[] {
    return this.#groups.get(key) ?? [];
  }

  keys(): Key[] {
    return [...this.#groups.keys()];
  }
}
