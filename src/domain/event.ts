import type { Contact, Kind } from "./state.ts";
import type { Terms } from "./terms.ts";
import type { Instant } from "./time.ts";

/**
 * What happened, in the past tense. State, journal, audit record and page are all made of these.
 */
export type Event =
  | Created
  | LicenseInstalled
  | SlotTaken
  | SlotRenewed
  | SlotBorrowed
  | SlotReleased
  | SlotExpired
  | FeatureTaken
  | FeatureRenewed
  | FeatureReleased
  | FeatureExpired
  | ConsumptionAdded
  | FeatureConsumptionAdded
  | KeyRemembered
  | RefusalsCounted;

interface Happened<T extends string> {
  readonly type: T;
  readonly at: Instant;
}

export interface Created extends Happened<"Created"> {
  readonly kind: Kind;
}

/** A license came in, or a newer one took its place under the same id. */
export interface LicenseInstalled extends Happened<"LicenseInstalled"> {
  readonly license: number;
  readonly terms: Terms;
}

interface OfHolder<T extends string> extends Happened<T> {
  readonly license: number;
  readonly user: string;
}

export interface SlotTaken extends OfHolder<"SlotTaken"> {
  readonly slot: number;
  readonly end: Instant;
  readonly contact: Contact;
}

/** The heartbeat. `contact` only where it changed. */
export interface SlotRenewed extends OfHolder<"SlotRenewed"> {
  readonly end: Instant;
  readonly contact?: Contact;
}

export interface SlotBorrowed extends OfHolder<"SlotBorrowed"> {
  readonly slot: number;
  readonly until: Instant;
  readonly end: Instant;
  readonly contact: Contact;
  /** The end moved to earlier than it was: an early return in part. */
  readonly early: boolean;
}

/** Who gave a slot back: the holder, or an operator for them. */
export type ReleasedBy = "user" | "admin";

export interface SlotReleased extends OfHolder<"SlotReleased"> {
  readonly slot: number;
  readonly by: ReleasedBy;
  readonly peer: string;
  /** It was borrowed and its end had not come yet. */
  readonly early: boolean;
}

/** Dated at the slot's true end, however much later it is written. */
export interface SlotExpired extends OfHolder<"SlotExpired"> {
  readonly slot: number;
}

interface OfFeature<T extends string> extends OfHolder<T> {
  readonly feature: string;
}

export interface FeatureTaken extends OfFeature<"FeatureTaken"> {
  readonly slot: number;
  readonly end: Instant;
  readonly peer: string;
}

export interface FeatureRenewed extends OfFeature<"FeatureRenewed"> {
  readonly end: Instant;
}

export interface FeatureReleased extends OfFeature<"FeatureReleased"> {
  readonly slot: number;
  readonly by: ReleasedBy;
  readonly peer: string;
}

export interface FeatureExpired extends OfFeature<"FeatureExpired"> {
  readonly slot: number;
}

interface Counted<T extends string> extends Happened<T> {
  readonly license: number;
  readonly user: string | null;
  readonly peer: string;
  readonly count: number;
  /** After this event. */
  readonly total: number;
  readonly resetAt: Instant | null;
}

export type ConsumptionAdded = Counted<"ConsumptionAdded">;

export interface FeatureConsumptionAdded extends Counted<"FeatureConsumptionAdded"> {
  readonly feature: string;
}

export interface KeyRemembered extends Happened<"KeyRemembered"> {
  readonly key: string;
  readonly fingerprint: string;
  readonly outcome: unknown;
}

/**
 * Refusals of one code for one product since the last such event; no product: none that is
 * installed.
 */
export interface RefusalsCounted extends Happened<"RefusalsCounted"> {
  readonly product: string | null;
  readonly code: string;
  readonly count: number;
  readonly users: readonly string[];
}

/**
 * Renewals would drown the record; everything else is kept for the auditor, and so is a renewal
 * from somewhere else than before.
 */
export function isAudited(event: Event): boolean {
  if (event.type === "SlotRenewed") return event.contact !== undefined;
  return event.type !== "FeatureRenewed";
}
