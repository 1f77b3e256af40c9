import { compareBySlot, SortedList } from "../../index/sorted-list.ts";
import { LargeMap } from "../../index/large-map.ts";
import type { Registration } from "./registration.ts";
import type { Instant } from "../../time.ts";

/** The registrations of one address. */
class PeerRegistrations extends SortedList<Registration> {
  readonly peer: string;

  constructor(peer: string) {
    super(compareBySlot);
    this.peer = peer;
  }
}

/**
 * Registrations by the address of their last call. Most addresses have one, which needs no list.
 */
export class PeerIndex {
  readonly #byPeer = new LargeMap<Registration | PeerRegistrations>((entry) =>
    entry instanceof PeerRegistrations ? entry.peer : entry.contact.peer,
  );

  add(registration: Registration): void {
    const existing = this.#byPeer.addIfAbsent(registration);
    if (existing === undefined) return;
    if (existing instanceof PeerRegistrations) return existing.add(registration);
    const list = new PeerRegistrations(registration.contact.peer);
    list.add(existing);
    list.add(registration);
    this.#byPeer.set(list);
  }

  remove(registration: Registration): void {
    const { peer } = registration.contact;
    const existing = this.#byPeer.get(peer);
    if (existing instanceof PeerRegistrations) {
      existing.remove(registration);
      if (!existing.isEmpty) return;
    } else if (existing !== registration)
      throw new Error("a registration is not indexed by its address");
    this.#byPeer.delete(peer);
  }

  /** When the first of the address's registrations ends; null: none is held. */
  findEarliestEnd(peer: string, at: Instant): Instant | null {
    const existing = this.#byPeer.get(peer);
    let first: Instant | null = null;
    if (existing === undefined) return null;
    for (const { end } of existing instanceof PeerRegistrations ? existing.all() : [existing])
      if (at < end && (first === null || end < first)) first = end;
    return first;
  }

  /**
   * Ended registrations do not count, even if their expiry is not written yet. Stops counting at
   * `slots`.
   */
  hasAtLeast(peer: string, slots: number, at: Instant): boolean {
    const existing = this.#byPeer.get(peer);
    if (existing === undefined) return slots <= 0;
    let count = 0;
    for (const { end } of existing instanceof PeerRegistrations ? existing.all() : [existing]) {
      if (count >= slots) return true;
      if (at < end) count += 1;
    }
    return count >= slots;
  }
}
