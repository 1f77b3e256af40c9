import { MINUTE } from "../domain/time.ts";

/** Wrong passwords, and tries under way, of one address, one name, and all together in a minute. */
const PER_PEER = 20;
const PER_NAME = 10;
const IN_ALL = 200;
/** So many addresses and names are told apart; beyond that, only the total counts. */
const TOLD_APART = 10_000;

/** Slows down whoever guesses, without a way to lock anybody out for long. */
export class Attempts {
  #minute = -1;
  #all = 0;
  readonly #counts = new Map<string, number>();

  /** Counts at once: a crowd that asks at the same time must not all get in line. */
  mayTry(peer: string, name: string, now: number): boolean {
    this.#turn(now);
    const keys = keysOf(peer, name);
    const [byPeer = 0, byName = 0] = keys.map((key) => this.#counts.get(key) ?? 0);
    if (this.#all >= IN_ALL || byPeer >= PER_PEER || byName >= PER_NAME) return false;
    this.#add(keys, 1);
    return true;
  }

  /** The right password does not count. */
  succeeded(peer: string, name: string): void {
    this.#add(keysOf(peer, name), -1);
  }

  #add(keys: readonly string[], by: number): void {
    this.#all = Math.max(0, this.#all + by);
    for (const key of keys) {
      const count = this.#counts.get(key) ?? 0;
      if (count > 0 || this.#counts.size < TOLD_APART) {
        this.#counts.set(key, Math.max(0, count + by));
      }
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

const keysOf = (peer: string, name: string): string[] => [`peer ${peer}`, `name ${name}`];
