import { bySlot, Ordered } from "./ordered.ts";
import { ShardedMap } from "./sharded-map.ts";
import type { Registration } from "./registration.ts";
import type { Instant } from "./time.ts";

class Several extends Ordered<Registration> {
  constructor(one: Registration, other: Registration) {
    super(bySlot);
    this.add(one);
    this.add(other);
  }
}

/** Registrations by the address they last spoke from. Most addresses have one: it needs no list. */
export class PeerIndex {
  readonly #held = new ShardedMap<Registration | Several>();

  add(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    if (others === undefined) this.#held.set(peer, held);
    else if (others instanceof Several) others.add(held);
    else this.#held.set(peer, new Several(others, held));
  }

  remove(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    if (others instanceof Several) {
      others.remove(held);
      if (!others.isEmpty) return;
    } else if (others !== held) throw new Error("an address does not know its registration");
    this.#held.delete(peer);
  }

  /** Those that ended do not count, written off or not; nobody counts further than asked. */
  atLeast(peer: string, slots: number, at: Instant): boolean {
    const there = this.#held.get(peer);
    if (there === undefined) return slots <= 0;
    let held = 0;
    for (const { end } of there instanceof Several ? there.all() : [there]) {
      if (held >= slots) return true;
      if (at < end) held += 1;
    }
    return held >= slots;
  }
}
