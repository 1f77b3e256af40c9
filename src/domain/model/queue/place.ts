import type { CallerFacts } from "../rules/caller-facts.ts";
import type { Instant } from "../../time.ts";

/** What the rules know of a waiting user besides the name. */
export type PlaceFacts = Omit<CallerFacts, "user">;

/** A free slot of this license is kept for the user. */
export interface Hold {
  readonly license: number;
  /** When it was given. */
  readonly at: Instant;
}

/** What is saved of a place. */
export interface Place {
  /** Unique within a site, from the same sequence as slot numbers. */
  readonly number: number;
  readonly user: string;
  /** Null: any license of the product. */
  readonly licenseId: number | null;
  readonly facts: PlaceFacts;
  /** The address of the call that took or changed the place, as slots have it. */
  readonly peer: string;
  readonly since: Instant;
  /** The place number, until an administrator moves the place to the front: then 0 or less. */
  readonly order: number;
  readonly hold: Hold | null;
}

/** Why a place must leave the queue. */
export type Departure = "denied" | "license_gone";

/** What follows from the rules and the licenses; never saved. */
export interface Standing {
  /** The reserved group that the user belongs to; null: none. */
  readonly home: string | null;
  /** 0 for the first group of `priority`, and so on; -1: moved to the front. */
  readonly rank: number;
  readonly departure: Departure | null;
}

/** A place with what follows from it. */
export type QueuedPlace = Place & Standing;

export const factsOfPlace = ({ user, facts }: Pick<Place, "user" | "facts">): CallerFacts => ({
  user,
  ...facts,
});
