import { compareBySlot, SortedList } from "./sorted-list.ts";
import { ShardedMap } from "./sharded-map.ts";
import type { Registration } from "./registration.ts";
import type { Instant } from "./time.ts";

class RegistrationList extends SortedList<Registration> {
  constructor(one: Registration, other: Registration) {
    super(compareBySlot);
    this.add(one);
    this.add(other);
  }
}

/** Registrations by the address they last spoke from. Most addresses have one: it needs no list. */
export class PeerIndex {
  readonly #held = new ShardedMap<Registration | RegistrationList>();

  add(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    if (others === undefined) this.#held.set(peer, held);
    else if (others instanceof RegistrationList) others.add(held);
    else this.#held.set(peer, new RegistrationList(others, held));
  }

  remove(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    if (others instanceof RegistrationList) {
      others.remove(held);
      if (!others.isEmpty) return;
    } else if (others !== held) throw new Error("an address does not know its registration");
    this.#held.delete(peer);
  }

  /** Those that ended do not count, written off or not; nobody counts further than asked. */
  hasAtLeast(peer: string, slots: number, at: Instant): boolean {
    const there = this.#held.get(peer);
    if (there === undefined) return slots <= 0;
    let held = 0;
    for (const { end } of there instanceof RegistrationList ? there.all() : [there]) {
      if (held >= slots) return true;
      if (at < end) held += 1;
    }
    return held >= slots;
  }
}
