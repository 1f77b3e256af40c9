import { limitKeyOf } from "../rules/network.ts";
import { personOf } from "../slots/person.ts";
import { peerCapKey, Queue, userCapKey } from "./queue.ts";
import type { Place, QueuedPlace, Standing } from "./place.ts";

/** The queues of all products that have places, and what is counted over all of them. */
export class Queues {
  readonly #byProduct = new Map<string, Queue>();
  /** By `limitKeyOf` the address. */
  readonly #byAddress = new Map<string, number>();
  readonly #byPerson = new Map<string, number>();
  /** Holds by the address that slots are capped by. */
  readonly #holdsByPeer = new Map<string, number>();
  /** Products with places under a cap that may allow more. */
  #withOpenedCaps = new Set<string>();

  /** The number of products that have places. */
  get size(): number {
    return this.#byProduct.size;
  }

  get(product: string): Queue | undefined {
    return this.#byProduct.get(product);
  }

  [Symbol.iterator](): IterableIterator<Queue> {
    return this.#byProduct.values();
  }

  /** The places of all products that were taken from this address, or from its IPv6 subnet. */
  countOfAddress(address: string): number {
    return this.#byAddress.get(limitKeyOf(address)) ?? 0;
  }

  countOfPerson(person: string): number {
    return this.#byPerson.get(person) ?? 0;
  }

  countHoldsOfPeer(peer: string): number {
    return this.#holdsByPeer.get(peer) ?? 0;
  }

  countHoldsOfUser(user: string): number {
    let count = 0;
    for (const queue of this.#byProduct.values()) if (queue.get(user)?.hold) count += 1;
    return count;
  }

  /** The products whose places a cap of the settings may allow a slot since the last call. */
  takeOpenedCaps(): ReadonlySet<string> {
    const products = this.#withOpenedCaps;
    if (products.size > 0) this.#withOpenedCaps = new Set();
    return products;
  }

  // Only for the code in evolve/.

  add(product: string, place: Place, standing: Standing): void {
    let queue = this.#byProduct.get(product);
    if (queue === undefined) this.#byProduct.set(product, (queue = new Queue(product)));
    queue.add(place, standing);
    this.#count(place, 1);
  }

  update(product: string, user: string, changes: Partial<Place & Standing>): void {
    const { queue, place } = this.#require(product, user);
    this.#count(place, -1);
    this.#openCapsOf(place);
    queue.update(user, changes);
    this.#count(place, 1);
  }

  remove(product: string, user: string): void {
    const { queue, place } = this.#require(product, user);
    queue.remove(user);
    this.#count(place, -1);
    this.#openCapsOf(place);
    if (queue.size === 0) this.#byProduct.delete(product);
  }

  /** A slot of this user and address was given back, so the caps of the settings may allow more. */
  openCaps(user: string, peer: string): void {
    for (const queue of this.#byProduct.values()) {
      if (!queue.hasParked) continue;
      queue.open(userCapKey(user));
      queue.open(peerCapKey(peer));
      this.#withOpenedCaps.add(queue.product);
    }
  }

  #openCapsOf({ user, peer, hold }: Place): void {
    if (hold !== null) this.openCaps(user, peer);
  }

  #count({ user, facts, peer, hold }: Place, change: 1 | -1): void {
    addTo(this.#byAddress, limitKeyOf(facts.address), change);
    addTo(this.#byPerson, personOf(user), change);
    if (hold !== null) addTo(this.#holdsByPeer, peer, change);
  }

  #require(product: string, user: string): { queue: Queue; place: QueuedPlace } {
    const queue = this.#byProduct.get(product);
    const place = queue?.get(user);
    if (queue === undefined || place === undefined)
      throw new Error("an event names a user who does not wait");
    return { queue, place };
  }
}

function addTo(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
