import { SortedList } from "../../index/sorted-list.ts";
import type { Instant } from "../../time.ts";
import type { Hold, Place, QueuedPlace, Standing } from "./place.ts";
import {
  newPlaceList,
  WaitingLists,
  type BlockingLimit,
  type Lane,
  type PlaceList,
} from "./waiting-lists.ts";

/** The caps of the settings, as in `SlotCaps`. */
interface Caps {
  readonly perUser: number | null;
  readonly perPeer: number | null;
}

type MutablePlace = { -readonly [K in keyof QueuedPlace]: QueuedPlace[K] };
interface HeldPlace extends MutablePlace {
  hold: Hold;
}

interface HomeLine {
  readonly places: PlaceList;
  size: number;
}

/** The oldest hold first. A set-back of the clock moves `at`, so the number decides ties. */
const compareByHold = (a: HeldPlace, b: HeldPlace): number =>
  a.hold.at - b.hold.at || a.number - b.number;

/** The oldest place first. */
const compareByNumber = (a: QueuedPlace, b: QueuedPlace): number => a.number - b.number;

/** Groups of places under a cap of the settings begin so; all others are under limits of rules. */
const CAP_KEY_PREFIX = "cap ";
export const userCapKey = (user: string): string => `${CAP_KEY_PREFIX}user ${user}`;
export const peerCapKey = (peer: string): string => `${CAP_KEY_PREFIX}peer ${peer}`;

/** The queue of a product. Only the code in evolve/ changes its places. */
export class Queue {
  readonly product: string;
  readonly #byUser = new Map<string, MutablePlace>();
  /** Every place without a hold, by priority and arrival. */
  readonly #line = newPlaceList();
  /** The places of `#line` that have a home, by that home. */
  readonly #homeLines = new Map<string, HomeLine>();
  readonly #holds = new Map<number, SortedList<HeldPlace>>();
  readonly #holdCounts = new Map<number, number>();
  /** Sorted, so that a queue that was read from disk is served in the same order. */
  readonly #departing = new SortedList(compareByNumber);
  #lists = new WaitingLists();
  #waitingCount = 0;
  #caps: Caps = { perUser: null, perPeer: null };

  constructor(product: string) {
    this.product = product;
  }

  /** All places, with and without a hold. */
  get size(): number {
    return this.#byUser.size;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  get heldCount(): number {
    return this.size - this.#waitingCount;
  }

  /** The oldest place first, by when it was taken. */
  get places(): Iterable<QueuedPlace> {
    return this.#byUser.values();
  }

  /** The places without a hold by priority and arrival. A group's own idle slots come first. */
  get line(): Iterable<QueuedPlace> {
    return this.#line.all();
  }

  get(user: string): QueuedPlace | undefined {
    return this.#byUser.get(user);
  }

  countHolds(license: number): number {
    return this.#holdCounts.get(license) ?? 0;
  }

  /** The licenses with holds, by their numbers: also the same after a restart. */
  get heldLicenses(): Iterable<number> {
    return this.#holds.size < 2 ? this.#holds.keys() : [...this.#holds.keys()].toSorted(ascending);
  }

  newestHold(license: number): QueuedPlace | null {
    return this.#holds.get(license)?.last ?? null;
  }

  /** How many places of `line` are before this one. */
  countBefore(place: QueuedPlace): number {
    return this.#line.countBefore(place);
  }

  /** The reserved groups whose members wait without a hold. */
  get homes(): Iterable<string> {
    return this.#homeLines.keys();
  }

  /** How many places of `line` have this home. */
  countOfHome(home: string): number {
    return this.#homeLines.get(home)?.size ?? 0;
  }

  /** How many of them are before this place, which may have another home. */
  countOfHomeBefore(home: string, place: QueuedPlace): number {
    return this.#homeLines.get(home)?.places.countBefore(place) ?? 0;
  }

  /** A place that must leave, because of the rules or because its license is gone; null: none. */
  get departing(): QueuedPlace | null {
    return this.#departing.first;
  }

  /** The order for a place that is moved to the front. */
  get frontOrder(): number {
    let lowest = 1;
    for (const { order } of this.#byUser.values()) lowest = Math.min(lowest, order);
    return lowest - 1;
  }

  // What follows is a cache of the counters: it may change without an event.

  get lanes(): Iterable<Lane> {
    return this.#lists.lanes;
  }

  get nextWakeAt(): Instant | null {
    return this.#lists.nextWakeAt;
  }

  get hasParked(): boolean {
    return this.#lists.hasParked;
  }

  park(place: QueuedPlace, limit: BlockingLimit): void {
    this.#lists.park(place, limit);
  }

  /** The counter of a limit fell. */
  open(key: string): void {
    this.#lists.open(key);
  }

  /** Called before places are served: what was parked at an earlier time may come back. */
  refresh(at: Instant, caps: Caps): void {
    this.#lists.wake(at);
    if (caps.perUser === this.#caps.perUser && caps.perPeer === this.#caps.perPeer) return;
    this.#caps = caps;
    this.#lists.openAll(CAP_KEY_PREFIX);
  }

  // Only for the code in evolve/.

  add(place: Place, standing: Standing): void {
    const queued: MutablePlace = { ...place, ...standing };
    this.#byUser.set(queued.user, queued);
    this.#index(queued);
  }

  remove(user: string): void {
    const place = this.#require(user);
    this.#unindex(place);
    this.#byUser.delete(user);
  }

  /** Changes a place without a change of its arrival. */
  update(user: string, changes: Partial<Place & Standing>): void {
    const place = this.#require(user);
    this.#unindex(place);
    Object.assign(place, changes);
    this.#index(place);
  }

  /** Computes anew what follows from rules and licenses, and moves the times of all places. */
  rebuild(standingOf: (place: Place) => Standing, move: (at: Instant) => Instant): void {
    const places = [...this.#byUser.values()];
    for (const place of places) this.#unindex(place);
    this.#lists = new WaitingLists();
    for (const place of places) {
      place.since = move(place.since);
      if (place.hold !== null) place.hold = { ...place.hold, at: move(place.hold.at) };
      Object.assign(place, standingOf(place));
      this.#index(place);
    }
  }

  #index(place: MutablePlace): void {
    if (place.departure !== null) this.#departing.add(place);
    if (isHeld(place)) return this.#changeHolds(place, 1);
    this.#line.add(place);
    this.#changeHomeLine(place, 1);
    this.#waitingCount += 1;
    if (place.departure === null) this.#lists.add(place);
  }

  #unindex(place: MutablePlace): void {
    if (place.departure !== null) this.#departing.remove(place);
    if (isHeld(place)) return this.#changeHolds(place, -1);
    this.#line.remove(place);
    this.#changeHomeLine(place, -1);
    this.#waitingCount -= 1;
    if (place.departure === null) this.#lists.remove(place);
  }

  #changeHomeLine(place: MutablePlace, change: 1 | -1): void {
    const { home } = place;
    if (home === null) return;
    let line = this.#homeLines.get(home);
    if (line === undefined) this.#homeLines.set(home, (line = { places: newPlaceList(), size: 0 }));
    if (change === 1) line.places.add(place);
    else line.places.remove(place);
    line.size += change;
    if (line.size === 0) this.#homeLines.delete(home);
  }

  #changeHolds(place: HeldPlace, change: 1 | -1): void {
    const { license } = place.hold;
    let holds = this.#holds.get(license);
    if (holds === undefined) this.#holds.set(license, (holds = new SortedList(compareByHold)));
    if (change === 1) holds.add(place);
    else holds.remove(place);
    const count = this.countHolds(license) + change;
    if (count > 0) return void this.#holdCounts.set(license, count);
    this.#holds.delete(license);
    this.#holdCounts.delete(license);
  }

  #require(user: string): MutablePlace {
    const place = this.#byUser.get(user);
    if (place === undefined) throw new Error("an event names a user who does not wait");
    return place;
  }
}

const ascending = (a: number, b: number): number => a - b;

const isHeld = (place: MutablePlace): place is HeldPlace => place.hold !== null;
