import type { CappedFault } from "../fault.ts";
import { SortedList } from "../../index/sorted-list.ts";
import type { Instant } from "../../time.ts";
import type { QueuedPlace } from "./place.ts";

/** Places are served in this order, besides a reserved group's own idle slots. */
export const compareByService = (
  a: Pick<QueuedPlace, "rank" | "order">,
  b: Pick<QueuedPlace, "rank" | "order">,
): number => a.rank - b.rank || a.order - b.order;

export type PlaceList = SortedList<QueuedPlace, Pick<QueuedPlace, "rank" | "order">>;
export const newPlaceList = (): PlaceList => new SortedList(compareByService);

/** Places that can use the same slots: they wait for the same license and have the same home. */
export interface Lane {
  readonly licenseId: number | null;
  readonly home: string | null;
  /** The place that is served next of these; null: all of them are blocked by a limit. */
  readonly first: QueuedPlace | null;
}

class MutableLane implements Lane {
  readonly licenseId: number | null;
  readonly home: string | null;
  readonly list: PlaceList = newPlaceList();
  /** All places of the lane, also those that are parked. */
  size = 0;

  constructor({ licenseId, home }: QueuedPlace) {
    this.licenseId = licenseId;
    this.home = home;
  }

  get first(): QueuedPlace | null {
    return this.list.first;
  }
}

/** A limit that allows one of its places no slot now. */
export interface BlockingLimit {
  /** The counter to wait for. */
  readonly key: string;
  /** A limit of the rules; else a cap of the settings. */
  readonly isRule: boolean;
  /** The refusal that a claim would get. */
  readonly fault: CappedFault;
  /** When the counter may fall without an event; null: never, or another index knows it. */
  readonly wakeAt: Instant | null;
}

/**
 * The places under one limit. While the limit blocks, none of them is in its lane. Once its counter
 * fell, the first one of each lane goes back; when that one leaves the lane, the next follows.
 */
class ParkedGroup {
  readonly byLane = new Map<MutableLane, PlaceList>();
  isOpen = false;
}

interface Wake {
  readonly at: Instant;
  readonly key: string;
}

/**
 * The places that wait without a hold, so that the next one to be served is found without a walk
 * over the queue. Which of them are parked is a cache: it follows from the counters.
 */
export class WaitingLists {
  readonly #lanes = new Map<string, MutableLane>();
  readonly #groups = new Map<string, ParkedGroup>();
  readonly #wakes = new SortedList<Wake>(
    (a, b) => a.at - b.at || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
  );
  /** The limit that a place is parked under, or that it came back from. */
  readonly #groupOf = new Map<QueuedPlace, { readonly key: string; isParked: boolean }>();

  get lanes(): Iterable<Lane> {
    return this.#lanes.values();
  }

  /** When a parked place may come back without an event; null: there is none. */
  get nextWakeAt(): Instant | null {
    return this.#wakes.first?.at ?? null;
  }

  add(place: QueuedPlace): void {
    const key = laneKey(place);
    let lane = this.#lanes.get(key);
    if (lane === undefined) this.#lanes.set(key, (lane = new MutableLane(place)));
    lane.size += 1;
    lane.list.add(place);
  }

  remove(place: QueuedPlace): void {
    const lane = this.#laneOf(place);
    this.#takeOut(place, lane);
    lane.size -= 1;
    if (lane.size === 0) this.#lanes.delete(laneKey(place));
  }

  /** Takes a place out of its lane until the counter falls. */
  park(place: QueuedPlace, { key, wakeAt }: BlockingLimit): void {
    const lane = this.#laneOf(place);
    this.#takeOut(place, lane, key);
    let group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, (group = new ParkedGroup()));
    group.isOpen = false;
    let list = group.byLane.get(lane);
    if (list === undefined) group.byLane.set(lane, (list = newPlaceList()));
    list.add(place);
    this.#groupOf.set(place, { key, isParked: true });
    if (wakeAt !== null) this.#addWake({ at: wakeAt, key });
  }

  /** The counter fell: the limit may allow a slot to the first place of each lane. */
  open(key: string): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    group.isOpen = true;
    for (const lane of group.byLane.keys()) this.#bringBack(key, group, lane);
  }

  /** Opens every limit whose key begins so. */
  openAll(prefix: string): void {
    for (const key of this.#groups.keys()) if (key.startsWith(prefix)) this.open(key);
  }

  /** Opens the limits whose counters may have fallen by now without an event. */
  wake(at: Instant): void {
    for (let wake = this.#wakes.first; wake !== null && wake.at <= at; wake = this.#wakes.first) {
      this.#wakes.remove(wake);
      this.open(wake.key);
    }
  }

  get hasParked(): boolean {
    return this.#groups.size > 0;
  }

  #laneOf(place: QueuedPlace): MutableLane {
    const lane = this.#lanes.get(laneKey(place));
    if (lane === undefined) throw new Error("a place is not in its lane");
    return lane;
  }

  /** `nextGroup`: the limit that blocks it now; its other places need not come back. */
  #takeOut(place: QueuedPlace, lane: MutableLane, nextGroup: string | null = null): void {
    const entry = this.#groupOf.get(place);
    this.#groupOf.delete(place);
    const group = entry && this.#groups.get(entry.key);
    if (entry?.isParked === true) {
      if (group === undefined) throw new Error("a parked place is not under its limit");
      return this.#removeParked(entry.key, group, lane, place);
    }
    lane.list.remove(place);
    if (entry !== undefined && group?.isOpen === true && entry.key !== nextGroup)
      this.#bringBack(entry.key, group, lane);
  }

  #bringBack(key: string, group: ParkedGroup, lane: MutableLane): void {
    const first = group.byLane.get(lane)?.first ?? null;
    if (first === null) return;
    this.#removeParked(key, group, lane, first);
    lane.list.add(first);
    this.#groupOf.set(first, { key, isParked: false });
  }

  #removeParked(key: string, group: ParkedGroup, lane: MutableLane, place: QueuedPlace): void {
    const list = group.byLane.get(lane);
    list?.remove(place);
    if (list?.isEmpty !== false) group.byLane.delete(lane);
    if (group.byLane.size === 0) this.#groups.delete(key);
  }

  #addWake(wake: Wake): void {
    for (const known of this.#wakes.startingAt(wake)) {
      if (known.at === wake.at && known.key === wake.key) return;
      break;
    }
    this.#wakes.add(wake);
  }
}

const laneKey = ({ licenseId, home }: QueuedPlace): string =>
  `${licenseId ?? ""} ${home === null ? "" : `=${home}`}`;
