import type { Registration } from "./state.ts";
import type { Instant } from "./time.ts";

/** Registrations by the address they last spoke from. */
export class PeerIndex {
  readonly #held = new Map<string, Set<Registration>>();

  add(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    if (others === undefined) this.#held.set(peer, new Set([held]));
    else others.add(held);
  }

  remove(held: Registration): void {
    const { peer } = held.contact;
    const others = this.#held.get(peer);
    others?.delete(held);
    if (others?.size === 0) this.#held.delete(peer);
  }

  /** Those that ended do not count, written off or not; nobody counts further than asked. */
  atLeast(peer: string, slots: number, at: Instant): boolean {
    let held = 0;
    for (const { end } of this.#held.get(peer) ?? []) {
      if (held >= slots) return true;
      if (at < end) held += 1;
    }
    return held >= slots;
  }
}
