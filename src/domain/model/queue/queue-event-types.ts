import type { BaseEvent } from "../event-base.ts";
import type { PlaceFacts } from "./place.ts";

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
  readonly facts: PlaceFacts;
  /** The reserved group that the user belongs to; null: none. For readers of the audit log. */
  readonly home: string | null;
  readonly peer: string;
  /** The refusal that the place was taken for; absent: not known. */
  readonly denied?: PlaceDenial;
}

/** Why a user waits: it begins a denied episode, which a kill of the process does not lose. */
export interface PlaceDenial {
  readonly code: string;
  /** The limit that refused; null: no slot was free. */
  readonly rule: string | null;
  /** The last journal line before the refusal. */
  readonly seq: number;
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
  /** The address of the call that ended it; absent: no call did. */
  readonly peer?: string;
}

/** A free slot of this license is kept for the user until it is collected. */
export interface HoldGiven extends PlaceEvent<"HoldGiven"> {
  readonly place: number;
  readonly license: number;
}

/**
 * The license has fewer slots than before, or grants nothing now, or the user could not collect the
 * slot: with other facts, for another license, or by a new limit. The user waits again, at the same
 * place.
 */
export interface HoldWithdrawn extends PlaceEvent<"HoldWithdrawn"> {
  readonly place: number;
  readonly license: number;
}

/** An administrator moved a place to the front. */
export interface PlaceMoved extends PlaceEvent<"PlaceMoved"> {
  readonly place: number;
  /** 0 or less: the place is served before all that were not moved, the lowest first. */
  readonly order: number;
  readonly peer: string;
}

export type QueueEvent = PlaceTaken | PlaceLeft | HoldGiven | HoldWithdrawn | PlaceMoved;
