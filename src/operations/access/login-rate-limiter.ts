import { limitKeyOf } from "../../domain/model/rules/network.ts";
import { MINUTE } from "../../domain/time.ts";
import { RateLimiter } from "../../platform/schedule/rate-limiter.ts";

/** Wrong and pending passwords per minute, from one address for any name. */
const MAX_PER_PEER = 20;
/** For one name from all addresses; it blocks only addresses with wrong passwords of their own. */
const MAX_PER_NAME = 10;
/** An address with fewer wrong passwords for a name is not blocked by the limit of the name. */
const TOLERATED_PER_PEER_AND_NAME = 3;
/** From all addresses; it limits the work, because checking a password is expensive. */
const MAX_TOTAL = 200;
/** Reserved for first attempts of other addresses, so that a few cannot use up the limit. */
const RESERVED_FOR_FIRST_ATTEMPTS = 100;

/**
 * Slows down password guessing. Wrong passwords of other addresses must not block a correct one, so
 * every limit depends on the attempts of the address itself.
 */
export class LoginRateLimiter {
  readonly #attempts = new RateLimiter(MINUTE);

  /** Counts before the check of the password, so that concurrent attempts are limited too. */
  tryAcquire(peer: string, name: string, now: number): boolean {
    const keys = keysOf(peer, name);
    const [byPeer = 0, byName = 0, byBoth = 0] = keys.map((key) => this.#attempts.count(now, key));
    if (byPeer >= MAX_PER_PEER) return false;
    if (byName >= MAX_PER_NAME && byBoth >= TOLERATED_PER_PEER_AND_NAME) return false;
    const maxTotal = byPeer === 0 ? MAX_TOTAL + RESERVED_FOR_FIRST_ATTEMPTS : MAX_TOTAL;
    if (this.#attempts.count(now) >= maxTotal) return false;
    this.#attempts.add(now, keys);
    return true;
  }

  /** Removes an attempt with the correct password from the counts. */
  release(peer: string, name: string): void {
    this.#attempts.remove(keysOf(peer, name));
  }
}

function keysOf(peer: string, name: string): string[] {
  const address = limitKeyOf(peer);
  return [`peer ${address}`, `name ${name}`, `both ${address} ${name}`];
}
