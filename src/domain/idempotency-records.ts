import { compareBySlot, SortedList, type SlotKeyed } from "./sorted-list.ts";
import type { IdempotencyRecord } from "./state.ts";

interface RecordEntry extends SlotKeyed {
  readonly key: string;
  readonly peer: PeerRecords;
  record: IdempotencyRecord;
}

/** All keys that one peer sent. */
interface PeerRecords extends SlotKeyed {
  readonly name: string | null;
  readonly entries: SortedList<RecordEntry>;
  size: number;
  /** Of its oldest key. */
  slot: number;
}

/**
 * Commands that were done under a key, oldest first, and by the peer that sent them: when there are
 * too many, the peer with the most loses its oldest. So nobody's flood of keys makes the server
 * forget those of others. Finding and dropping one does not take longer with their number.
 */
export class IdempotencyRecords {
  readonly #byKey = new Map<string, RecordEntry>();
  readonly #inOrder = new SortedList<RecordEntry>(compareBySlot);
  readonly #peers = new Map<string | null, PeerRecords>();
  readonly #bySize = new SortedList<PeerRecords>((a, b) => b.size - a.size || a.slot - b.slot);
  #next = 0;

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): IdempotencyRecord | undefined {
    return this.#byKey.get(key)?.record;
  }

  get oldest(): { readonly key: string; readonly record: IdempotencyRecord } | null {
    return this.#inOrder.first;
  }

  /** The key to do without first. */
  get oldestKeyOfLargestPeer(): string | null {
    return this.#bySize.first?.entries.first?.key ?? null;
  }

  /** The newest now, whatever was known under this key before. */
  add(key: string, record: IdempotencyRecord): void {
    this.delete(key);
    const known = this.#peers.get(record.peer);
    const keys = known?.entries ?? new SortedList<RecordEntry>(compareBySlot);
    const peer = known ?? { name: record.peer, entries: keys, size: 0, slot: 0 };
    const entry = { slot: this.#next, key, peer, record };
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
    this.#change(entry.peer, -1, () => entry.peer.entries.remove(entry));
  }

  /** Where they stand in time does not change. */
  update(edit: (record: IdempotencyRecord) => IdempotencyRecord): void {
    for (const entry of this.#inOrder.all()) entry.record = edit(entry.record);
  }

  *[Symbol.iterator](): Generator<[string, IdempotencyRecord], void> {
    for (const { key, record } of this.#inOrder.all()) yield [key, record];
  }

  /** Its place among the others depends on what changes. */
  #change(peer: PeerRecords, by: 1 | -1, change: () => void): void {
    if (peer.size > 0) this.#bySize.remove(peer);
    change();
    peer.size += by;
    peer.slot = peer.entries.first?.slot ?? 0;
    if (peer.size === 0) this.#peers.delete(peer.name);
    else {
      this.#peers.set(peer.name, peer);
      this.#bySize.add(peer);
    }
  }
}
