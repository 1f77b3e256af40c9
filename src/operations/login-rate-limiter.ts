import { MINUTE } from "../domain/time.ts";

/** Wrong passwords and tries under way, in a minute: of one address, for any name. */
const PER_PEER = 20;
/** For one name, from all addresses together; it stops only those that went wrong themselves. */
const PER_NAME = 10;
/** So many wrong ones for a name are an address's own; people mistype. */
const MISTYPED = 3;
/** Of all addresses together, which bounds the work; a password is expensive to check. */
const IN_ALL = 200;
/** Kept for addresses that have not tried yet, so that few of them cannot use up everything. */
const FOR_FIRST_TRIES = 100;

/**
 * Slows down guessing. What others did wrong must not refuse somebody's right password, so every
 * limit looks first at what the address itself has tried.
 */
export class LoginRateLimiter {
  #minute = -1;
  #all = 0;
  /** Bounded by the total, since nothing is kept of a count that is back at none. */
  readonly #counts = new Map<string, number>();

  /** Counts at once: a crowd that asks at the same time must not all get in line. */
  tryAcquire(peer: string, name: string, now: number): boolean {
    this.#turn(now);
    const keys = keysOf(peer, name);
    const [byPeer = 0, byName = 0, byBoth = 0] = keys.map((key) => this.#counts.get(key) ?? 0);
    if (byPeer >= PER_PEER) return false;
    if (byName >= PER_NAME && byBoth >= MISTYPED) return false;
    if (this.#all >= (byPeer === 0 ? IN_ALL + FOR_FIRST_TRIES : IN_ALL)) return false;
    this.#add(keys, 1);
    return true;
  }

  /** The right password does not count. */
  release(peer: string, name: string): void {
    this.#add(keysOf(peer, name), -1);
  }

  #add(keys: readonly string[], by: number): void {
    this.#all = Math.max(0, this.#all + by);
    for (const key of keys) {
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }

  #turn(now: number): void {
    const minute = Math.floor(now / MINUTE);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#all = 0;
    this.#counts.clear();
  }
}

const keysOf = (peer: string, name: string): string[] => [
  `peer ${peer}`,
  `name ${name}`,
  `both ${peer} ${name}`,
];
