import { compareBySlot, SortedList, type SlotKeyed } from "../index/sorted-list.ts";
import type { Instant } from "../time.ts";

/** A command that was executed under an idempotency key, and its outcome. */
export interface IdempotencyRecord {
  readonly at: Instant;
  readonly fingerprint: string;
  readonly outcome: unknown;
  /** The address of the caller. */
  readonly peer: string;
}

interface RecordEntry extends SlotKeyed {
  readonly key: string;
  readonly peer: PeerRecords;
  record: IdempotencyRecord;
}

/** All keys sent by one peer. */
interface PeerRecords extends SlotKeyed {
  readonly name: string;
  readonly entries: SortedList<RecordEntry>;
  size: number;
  /** The number of its oldest key. */
  slot: number;
}

/**
 * Outcomes of commands that were executed under a key, oldest first and by peer. When there are too
 * many, the peer with the most keys loses its oldest one: a flood of keys from one peer does not
 * displace those of others. The cost of finding and deleting does not grow with the number of keys.
 */
export class IdempotencyRecords {
  readonly #byKey = new Map<string, RecordEntry>();
  readonly #inOrder = new SortedList<RecordEntry>(compareBySlot);
  readonly #peers = new Map<string, PeerRecords>();
  readonly #bySize = new SortedList<PeerRecords>((a, b) => b.size - a.size || a.slot - b.slot);
  #nextNumber = 0;

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): IdempotencyRecord | undefined {
    return this.#byKey.get(key)?.record;
  }

  get oldest(): { readonly key: string; readonly record: IdempotencyRecord } | null {
    return this.#inOrder.first;
  }

  /** The key to drop first. */
  get oldestKeyOfLargestPeer(): string | null {
    return this.#bySize.first?.entries.first?.key ?? null;
  }

  /** Adds the record as the newest; replaces an older record under the same key. */
  add(key: string, record: IdempotencyRecord): void {
    this.delete(key);
    const existing = this.#peers.get(record.peer);
    const keys = existing?.entries ?? new SortedList<RecordEntry>(compareBySlot);
    const peer = existing ?? { name: record.peer, entries: keys, size: 0, slot: 0 };
    const entry = { slot: this.#nextNumber, key, peer, record };
    this.#nextNumber += 1;
    this.#byKey.set(key, entry);
    this.#inOrder.add(entry);
    this.#updatePeer(peer, 1, () => keys.add(entry));
  }

  delete(key: string): void {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return;
    this.#byKey.delete(key);
    this.#inOrder.remove(entry);
    this.#updatePeer(entry.peer, -1, () => entry.peer.entries.remove(entry));
  }

  /** Replaces every record; their order does not change. */
  update(edit: (record: IdempotencyRecord) => IdempotencyRecord): void {
    for (const entry of this.#inOrder.all()) entry.record = edit(entry.record);
  }

  *[Symbol.iterator](): Generator<[string, IdempotencyRecord], void> {
    for (const { key, record } of this.#inOrder.all()) yield [key, record];
  }

  /** Removes the peer from the index while its sort key changes. */
  #updatePeer(peer: PeerRecords, delta: 1 | -1, change: () => void): void {
    if (peer.size > 0) this.#bySize.remove(peer);
    change();
    peer.size += delta;
    peer.slot = peer.entries.first?.slot ?? 0;
    if (peer.size === 0) this.#peers.delete(peer.name);
    else {
      this.#peers.set(peer.name, peer);
      this.#bySize.add(peer);
    }
  }
}
