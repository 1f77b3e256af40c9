import { bySlot, Ordered, type Slotted } from "./ordered.ts";
import type { Remembered } from "./state.ts";

interface Entry extends Slotted {
  readonly key: string;
  readonly peer: Peer;
  done: Remembered;
}

/** All keys that one peer sent. */
interface Peer extends Slotted {
  readonly name: string | null;
  readonly keys: Ordered<Entry>;
  size: number;
  /** Of its oldest key. */
  slot: number;
}

/**
 * Commands that were done under a key, oldest first, and by the peer that sent them: when there are
 * too many, the peer with the most loses its oldest. So nobody's flood of keys makes the server
 * forget those of others. Finding and dropping one does not take longer with their number.
 */
export class RememberedKeys {
  readonly #byKey = new Map<string, Entry>();
  readonly #inOrder = new Ordered<Entry>(bySlot);
  readonly #peers = new Map<string | null, Peer>();
  readonly #bySize = new Ordered<Peer>((a, b) => b.size - a.size || a.slot - b.slot);
  #next = 0;

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): Remembered | undefined {
    return this.#byKey.get(key)?.done;
  }

  get oldest(): { readonly key: string; readonly done: Remembered } | null {
    return this.#inOrder.first;
  }

  /** The key to do without first. */
  get oldestOfMost(): string | null {
    return this.#bySize.first?.keys.first?.key ?? null;
  }

  /** The newest now, whatever was known under this key before. */
  add(key: string, done: Remembered): void {
    this.delete(key);
    const known = this.#peers.get(done.peer);
    const keys = known?.keys ?? new Ordered<Entry>(bySlot);
    const peer = known ?? { name: done.peer, keys, size: 0, slot: 0 };
    const entry = { slot: this.#next, key, peer, done };
    this.#next += 1;
    this.#byKey.set(key, entry);
    this.#inOrder.add(entry);
    this.#change(peer, 1, () => keys.add(entry));
  }

  delete(key: string): void {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return;
    this.#byKey.delete(key);
    this.#inOrder.remove(entry);
    this.#change(entry.peer, -1, () => entry.peer.keys.remove(entry));
  }

  /** Where they stand in time does not change. */
  update(edit: (done: Remembered) => Remembered): void {
    for (const entry of this.#inOrder.all()) entry.done = edit(entry.done);
  }

  *[Symbol.iterator](): Generator<[string, Remembered], void> {
    for (const { key, done } of this.#inOrder.all()) yield [key, done];
  }

  /** Its place among the others depends on what changes. */
  #change(peer: Peer, by: 1 | -1, change: () => void): void {
    if (peer.size > 0) this.#bySize.remove(peer);
    change();
    peer.size += by;
    peer.slot = peer.keys.first?.slot ?? 0;
    if (peer.size === 0) this.#peers.delete(peer.name);
    else {
      this.#peers.set(peer.name, peer);
      this.#bySize.add(peer);
    }
  }
}
