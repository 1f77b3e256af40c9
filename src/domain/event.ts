import type { Machine } from "./contact.ts";
import type { ClockJump } from "./clock-jump-types.ts";
import type { Contact } from "./registration.ts";
import type {
  AuditGap,
  Grant,
  DataFolderKind,
  OpenActivation,
  OpenRequest,
  Restore,
  Tombstone,
  TrustedVendor,
} from "./state.ts";
import type { Terms } from "./terms.ts";
import type { Instant } from "./time.ts";

/**
 * What happened, in the past tense. State, journal, audit record and page are all made of these.
 */
export type Event =
  | Created
  | VendorTrusted
  | VendorDistrusted
  | RequestMade
  | ActivationMade
  | LicenseInstalled
  | LicenseRemoved
  | SlotTaken
  | SlotRenewed
  | ContactChanged
  | SlotBorrowed
  | SlotReleased
  | SlotExpired
  | SlotRestored
  | FeatureTaken
  | FeatureRenewed
  | FeatureReleased
  | FeatureExpired
  | ConsumptionAdded
  | FeatureConsumptionAdded
  | KeyRemembered
  | KeysSet
  | AccessChanged
  | Restored
  | MovedAway
  | MovedIn
  | AuditGapDeclared
  | ClockMarked
  | ClockAsked
  | ClockJumped
  | ClockSetBack
  | RefusalsCounted;

interface BaseEvent<T extends string> {
  readonly type: T;
  readonly at: Instant;
}

export interface Created extends BaseEvent<"Created"> {
  readonly kind: DataFolderKind;
  readonly appliance: string;
}

/** Licenses of this vendor are accepted from here on; of one known already: its newer document. */
export interface VendorTrusted extends BaseEvent<"VendorTrusted"> {
  readonly vendor: TrustedVendor;
  readonly peer: string;
}

export interface VendorDistrusted extends BaseEvent<"VendorDistrusted"> {
  readonly vendor: string;
  readonly peer: string;
}

/** A request went out, with where the audit chain stood right before it. */
export interface RequestMade extends BaseEvent<"RequestMade"> {
  readonly request: OpenRequest;
  readonly head: { readonly auditSeq: number; readonly auditSum: string };
  readonly peer: string;
}

/** An activation code was made, to be read out to the vendor. */
export interface ActivationMade extends BaseEvent<"ActivationMade"> {
  readonly activation: OpenActivation;
  readonly peer: string;
}

/** A license came in, or a newer one took its place under the same id. */
export interface LicenseInstalled extends BaseEvent<"LicenseInstalled"> {
  readonly license: number;
  readonly terms: Terms;
  readonly grant: Grant;
  /** The request it answers, which is used up by this; null: a renewal nobody asked for. */
  readonly request: string | null;
  /** The activation it confirms, likewise. */
  readonly activation: string | null;
  readonly peer: string;
}

/** Given back to the vendor for good. */
export interface LicenseRemoved extends BaseEvent<"LicenseRemoved"> {
  readonly license: number;
  readonly tombstone: Tombstone;
  readonly peer: string;
}

interface HolderEvent<T extends string> extends BaseEvent<T> {
  readonly license: number;
  readonly user: string;
}

export interface SlotTaken extends HolderEvent<"SlotTaken"> {
  readonly slot: number;
  readonly end: Instant;
  readonly contact: Contact;
}

/**
 * The heartbeat. `contact` only where it changed; the audit log learns of it by ContactChanged.
 * `leasedTo` only where it leases a borrow that was leased to no device yet.
 */
export interface SlotRenewed extends HolderEvent<"SlotRenewed"> {
  readonly end: Instant;
  readonly contact?: Contact;
  /** The contact is another machine, and no ContactChanged tells of it yet. */
  readonly unaudited?: true;
  readonly leasedTo?: string;
}

/** A slot is used from another machine: for the audit log, at most once a day for each slot. */
export interface ContactChanged extends HolderEvent<"ContactChanged">, Machine {
  readonly slot: number;
}

export interface SlotBorrowed extends HolderEvent<"SlotBorrowed"> {
  readonly slot: number;
  readonly until: Instant;
  readonly end: Instant;
  /** `info` only where an older version wrote it: audited lines stay short. */
  readonly contact: Machine & Partial<Contact>;
  /** The end moved to earlier than it was: an early return in part. */
  readonly early: boolean;
  /** The device the borrow is leased to from here on; absent: to none yet. */
  readonly leasedTo?: string;
}

/** Who gave a slot back: the holder, or an operator for them. */
export type ReleasedBy = "user" | "admin";

export interface SlotReleased extends HolderEvent<"SlotReleased"> {
  readonly slot: number;
  readonly by: ReleasedBy;
  readonly peer: string;
  /** It was borrowed and its end had not come yet. */
  readonly early: boolean;
}

/** Dated at the slot's true end, however much later it is written. */
export interface SlotExpired extends HolderEvent<"SlotExpired"> {
  readonly slot: number;
}

/**
 * A borrow that ended only because the clock was ahead is held again, under the slot it had or, if
 * its user holds another by now, under that one.
 */
export interface SlotRestored extends HolderEvent<"SlotRestored"> {
  readonly slot: number;
  readonly until: Instant;
  /** The user held a slot again already. */
  readonly isHeld: boolean;
}

interface FeatureEvent<T extends string> extends HolderEvent<T> {
  readonly feature: string;
}

/** When a feature's slot ends, and when its own timeout would end it: older lines say it once. */
interface FeatureEnds {
  readonly end: Instant;
  readonly timeoutAt?: Instant;
}

export interface FeatureTaken extends FeatureEvent<"FeatureTaken">, FeatureEnds {
  readonly slot: number;
  readonly peer: string;
}

/** By a heartbeat of its own, or by one that moved the end of the license's slot. */
export interface FeatureRenewed extends FeatureEvent<"FeatureRenewed">, FeatureEnds {}

export interface FeatureReleased extends FeatureEvent<"FeatureReleased"> {
  readonly slot: number;
  readonly by: ReleasedBy;
  readonly peer: string;
}

export interface FeatureExpired extends FeatureEvent<"FeatureExpired"> {
  readonly slot: number;
}

interface ConsumptionEvent<T extends string> extends BaseEvent<T> {
  readonly license: number;
  readonly user: string | null;
  readonly peer: string;
  readonly count: number;
  /** After this event. */
  readonly total: number;
  readonly resetAt: Instant | null;
}

export type ConsumptionAdded = ConsumptionEvent<"ConsumptionAdded">;

export interface FeatureConsumptionAdded extends ConsumptionEvent<"FeatureConsumptionAdded"> {
  readonly feature: string;
}

export interface KeyRemembered extends BaseEvent<"KeyRemembered"> {
  readonly key: string;
  readonly fingerprint: string;
  readonly outcome: unknown;
  /** The address it came from; older lines do not say. */
  readonly peer?: string;
}

/** Time went on with nothing else to say so. */
export type ClockMarked = BaseEvent<"ClockMarked">;

export interface ClockAsked extends BaseEvent<"ClockAsked"> {
  readonly nonce: string;
  readonly peer: string;
}

/** The clock was believed to have gone ahead from one instant to another. */
export interface ClockJumped extends BaseEvent<"ClockJumped">, ClockJump {}

/** What was set while the clock was ahead moves back by as much as it was ahead. */
export interface ClockSetBack extends BaseEvent<"ClockSetBack"> {
  readonly from: Instant;
  readonly to: Instant;
  readonly peer: string;
}

/** Cloud credentials were replaced: which, and nothing of what. */
export interface KeysSet extends BaseEvent<"KeysSet"> {
  readonly changed: readonly string[];
  readonly peer: string;
}

/** Who may get in was changed: which credential, by whom, and nothing of what it is. */
export interface AccessChanged extends BaseEvent<"AccessChanged"> {
  readonly change: AccessChange;
  readonly name: string;
  readonly peer: string;
}

export type AccessChange = "token_made" | "token_revoked" | "user_set" | "user_removed";

/** A backup took the place of what was there: from here on this is another line of events. */
export interface Restored extends BaseEvent<"Restored"> {
  readonly restore: Restore;
}

/** The last thing that happens on a host that is left. */
export interface MovedAway extends BaseEvent<"MovedAway"> {
  readonly move: string;
  readonly peer: string;
}

/** The first thing that happens on the host it came to. */
export interface MovedIn extends BaseEvent<"MovedIn"> {
  readonly restore: Restore;
}

/** Lines of the audit log are gone, and every reader accepts exactly these as missing. */
export interface AuditGapDeclared extends BaseEvent<"AuditGapDeclared"> {
  readonly gap: AuditGap;
  /** What the operator said about it. */
  readonly note: string;
  readonly peer: string;
}

/**
 * Refusals of one code for one product since the last such event; no product: none that is
 * installed.
 */
export interface RefusalsCounted extends BaseEvent<"RefusalsCounted"> {
  readonly product: string | null;
  readonly code: string;
  readonly count: number;
  readonly users: readonly string[];
}
