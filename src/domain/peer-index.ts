import type { Registration } from "./state.ts";
import type { Instant } from "./time.ts";

/** Registrations by the address they last spoke from. Most addresses have one: it needs no set. */
export class PeerIndex {
  readonly #held = new Map<string, Registration | Set<Registration>>();

  add(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    if (others === undefined) this.#held.set(peer, held);
    else if (others instanceof Set) others.add(held);
    else this.#held.set(peer, new Set([others, held]));
  }

  remove(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    if (others === held) this.#held.delete(peer);
    else if (others instanceof Set && others.delete(held) && others.size === 0) {
      this.#held.delete(peer);
    }
  }

  /** Those that ended do not count, written off or not; nobody counts further than asked. */
  atLeast(peer: string, slots: number, at: Instant): boolean {
    const there = this.#held.get(peer);
    if (there === undefined) return slots <= 0;
    let held = 0;
    for (const { end } of there instanceof Set ? there : [there]) {
      if (held >= slots) return true;
      if (at < end) held += 1;
    }
    return held >= slots;
  }
}
