import { compareBySlot, SortedList } from "./sorted-list.ts";
import { ShardedMap } from "./sharded-map.ts";
import type { Registration } from "../slots/registration.ts";
import type { Instant } from "../time.ts";

class RegistrationList extends SortedList<Registration> {
  constructor(first: Registration, second: Registration) {
    super(compareBySlot);
    this.add(first);
    this.add(second);
  }
}

/**
 * Registrations by the address of their last call. Most addresses have one, which needs no list.
 */
export class PeerIndex {
  readonly #byPeer = new ShardedMap<Registration | RegistrationList>();

  add(registration: Registration): void {
    const { peer } = registration.contact;
    const existing = this.#byPeer.get(peer);
    if (existing === undefined) this.#byPeer.set(peer, registration);
    else if (existing instanceof RegistrationList) existing.add(registration);
    else this.#byPeer.set(peer, new RegistrationList(existing, registration));
  }

  remove(registration: Registration): void {
    const { peer } = registration.contact;
    const existing = this.#byPeer.get(peer);
    if (existing instanceof RegistrationList) {
      existing.remove(registration);
      if (!existing.isEmpty) return;
    } else if (existing !== registration)
      throw new Error("a registration is not indexed by its address");
    this.#byPeer.delete(peer);
  }

  /**
   * Ended registrations do not count, even if their expiry is not written yet. Stops counting at
   * `slots`.
   */
  hasAtLeast(peer: string, slots: number, at: Instant): boolean {
    const existing = this.#byPeer.get(peer);
    if (existing === undefined) return slots <= 0;
    let count = 0;
    for (const { end } of existing instanceof RegistrationList ? existing.all() : [existing]) {
      if (count >= slots) return true;
      if (at < end) count += 1;
    }
    return count >= slots;
  }
}
