import type { BaseEvent } from "../event-base.ts";
import type { CallerFacts } from "../rules/rule-set.ts";

/** A user's place in the queue of a product: a user has at most one per product. */
interface PlaceEvent<T extends string> extends BaseEvent<T> {
  readonly product: string;
  readonly user: string;
}

/**
 * A user waits for a slot. For a user who waits already it changes the license and the facts, and
 * keeps number and order.
 */
export interface PlaceTaken extends PlaceEvent<"PlaceTaken"> {
  /** Unique within a site, from the same sequence as slot numbers. */
  readonly place: number;
  /** Null: any license of the product. */
  readonly licenseId: number | null;
  readonly facts: Omit<CallerFacts, "user">;
  /** The reserved group that the user belongs to; null: none. */
  readonly home: string | null;
}

/**
 * Why a place ended: a slot was taken, the user unregistered, no contact came within
 * `hold_seconds`, an administrator removed it, rules refuse the user now, or its licenses are gone.
 */
export type PlaceLeftCause =
  "granted" | "unregistered" | "lapsed" | "dropped" | "denied" | "license_gone";

export interface PlaceLeft extends PlaceEvent<"PlaceLeft"> {
  readonly place: number;
  readonly cause: PlaceLeftCause;
}

/** A free slot of this license is kept for the user until it is collected. */
export interface HoldGiven extends PlaceEvent<"HoldGiven"> {
  readonly place: number;
  readonly license: number;
}

/** The license has fewer slots than before, or grants nothing now: the user waits again. */
export interface HoldWithdrawn extends PlaceEvent<"HoldWithdrawn"> {
  readonly place: number;
  readonly license: number;
}

/** An administrator moved a place to the front. */
export interface PlaceMoved extends PlaceEvent<"PlaceMoved"> {
  readonly place: number;
  /** The place is served in this order among those of the same priority. */
  readonly order: number;
  readonly peer: string;
}
