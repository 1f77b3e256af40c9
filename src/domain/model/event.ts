import type { SettingChanged } from "./setting-change.ts";
import type { ClockJump } from "./clock-jump-types.ts";
import type { EpisodeEnded, EpisodesObserved } from "./demand/episode.ts";
import type { BaseEvent } from "./event-base.ts";
import type {
  ActivationMade,
  LicenseInstalled,
  LicenseRemoved,
  RequestCancelled,
  RequestMade,
  VendorDistrusted,
  VendorTrusted,
} from "./licenses/license-event-types.ts";
import type { HostAdmitted, LeaderChanged, PairLeft } from "./pair/pair-event-types.ts";
import type { Identity } from "./rules/caller-facts.ts";
import type { ReservationRecalled, RulesApplied } from "./rules/rules-event-types.ts";
import type { Contact, Machine } from "./slots/contact.ts";
import type {
  HoldGiven,
  HoldWithdrawn,
  PlaceLeft,
  PlaceMoved,
  PlaceTaken,
} from "./queue/queue-event-types.ts";
import type { StatementAcknowledged, StatementMade } from "./statements/statement-event-types.ts";
import type { AuditGap, DataFolderKind, Restore } from "./state.ts";
import type { Instant } from "../time.ts";

/**
 * What happened, in the past tense. State, journal, audit log and operator page are all derived
 * from these.
 */
export type Event =
  | Created
  | VendorTrusted
  | VendorDistrusted
  | RequestMade
  | ActivationMade
  | RequestCancelled
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
  | PlaceTaken
  | PlaceLeft
  | HoldGiven
  | HoldWithdrawn
  | PlaceMoved
  | ConsumptionAdded
  | FeatureConsumptionAdded
  | KeyRemembered
  | KeysSet
  | AccessChanged
  | SettingChanged
  | Restored
  | MovedAway
  | MovedIn
  | StatementMade
  | StatementAcknowledged
  | AuditGapDeclared
  | ClockMarked
  | ClockAsked
  | ClockJumped
  | ClockSetBack
  | EpisodesObserved
  | EpisodeEnded
  | RefusalsCounted
  | RulesApplied
  | ReservationRecalled
  | HostAdmitted
  | LeaderChanged
  | PairLeft;

export interface Created extends BaseEvent<"Created"> {
  readonly kind: DataFolderKind;
  readonly appliance: string;
}

interface HolderEvent<T extends string> extends BaseEvent<T> {
  readonly license: number;
  readonly user: string;
}

export interface SlotTaken extends HolderEvent<"SlotTaken"> {
  readonly slot: number;
  readonly end: Instant;
  readonly contact: Contact;
  /** Absent: only the address of the caller was observed. */
  readonly identity?: Identity;
  /** The reserved group that the caller belongs to; absent: none. */
  readonly home?: string;
}

/**
 * The heartbeat. `contact` is set only if it changed; the audit log gets the change by
 * ContactChanged. `leasedTo` is set only if this leases a borrow that was leased to no device yet.
 */
export interface SlotRenewed extends HolderEvent<"SlotRenewed"> {
  readonly end: Instant;
  readonly contact?: Contact;
  /** The contact is another machine, and no ContactChanged event has recorded it yet. */
  readonly unaudited?: true;
  readonly leasedTo?: string;
}

/**
 * A slot is used from another machine. Written for the audit log, at most once a day for each slot.
 */
export interface ContactChanged extends HolderEvent<"ContactChanged">, Machine {
  readonly slot: number;
}

export interface SlotBorrowed extends HolderEvent<"SlotBorrowed"> {
  readonly slot: number;
  readonly until: Instant;
  readonly end: Instant;
  readonly contact: Machine;
  /** The end moved to an earlier instant: a partial early return. */
  readonly early: boolean;
  /** The device the borrow is leased to from here on; absent: none yet. */
  readonly leasedTo?: string;
}

/** Who released a slot: its holder, or an administrator. */
export type ReleasedBy = "user" | "admin";

export interface SlotReleased extends HolderEvent<"SlotReleased"> {
  readonly slot: number;
  readonly by: ReleasedBy;
  readonly peer: string;
  /** The slot was borrowed and the borrow had not ended yet. */
  readonly early: boolean;
}

/** Dated at the slot's true end, even if it is written much later. */
export interface SlotExpired extends HolderEvent<"SlotExpired"> {
  readonly slot: number;
}

/**
 * A borrow that ended only because the clock was ahead is restored, in its old slot or in the slot
 * that its user holds by now.
 */
export interface SlotRestored extends HolderEvent<"SlotRestored"> {
  readonly slot: number;
  readonly until: Instant;
  /** The user already held a slot again. */
  readonly isHeld: boolean;
}

interface FeatureEvent<T extends string> extends HolderEvent<T> {
  readonly feature: string;
}

/** When a feature's slot ends, and when its own timeout would end it. */
interface FeatureEnds {
  readonly end: Instant;
  readonly timeoutAt: Instant;
}

export interface FeatureTaken extends FeatureEvent<"FeatureTaken">, FeatureEnds {
  readonly slot: number;
  readonly peer: string;
  /** The host of the license's slot; absent: none. */
  readonly host?: string;
  /** As in `SlotTaken`. */
  readonly identity?: Identity;
  readonly home?: string;
}

/** Caused by the feature's own heartbeat, or by a change of the end of the license's slot. */
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
  /** The total after this event. */
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
  /** The address of the caller. */
  readonly peer: string;
}

/** Records the current time while no other event does. */
export type ClockMarked = BaseEvent<"ClockMarked">;

export interface ClockAsked extends BaseEvent<"ClockAsked"> {
  readonly nonce: string;
  readonly peer: string;
}

/** A forward jump of the clock was accepted. */
export interface ClockJumped extends BaseEvent<"ClockJumped">, ClockJump {}

/** Everything set while the clock was ahead moves back by as much as it was ahead. */
export interface ClockSetBack extends BaseEvent<"ClockSetBack"> {
  readonly from: Instant;
  readonly to: Instant;
  readonly peer: string;
}

/** Cloud credentials were replaced. Contains their names, never their values. */
export interface KeysSet extends BaseEvent<"KeysSet"> {
  readonly changed: readonly string[];
  readonly peer: string;
}

/** A token, login or session was changed. Contains its owner's name, never the secret. */
export interface AccessChanged extends BaseEvent<"AccessChanged"> {
  readonly change: AccessChange;
  readonly name: string;
  readonly peer: string;
}

/** A backup replaced the contents of the folder: from here on this is a new lineage of events. */
export interface Restored extends BaseEvent<"Restored"> {
  readonly restore: Restore;
}

/** The last event on the old host of a move. */
export interface MovedAway extends BaseEvent<"MovedAway"> {
  readonly move: string;
  readonly peer: string;
}

/** The first event on the new host of a move. */
export interface MovedIn extends BaseEvent<"MovedIn"> {
  readonly restore: Restore;
}

/** Lines of the audit log are lost, and every reader accepts exactly these as missing. */
export interface AuditGapDeclared extends BaseEvent<"AuditGapDeclared"> {
  readonly gap: AuditGap;
  /** The operator's comment. */
  readonly note: string;
  readonly peer: string;
}

/** Refusals of one code for one product since the last such event; null: no installed product. */
export interface RefusalsCounted extends BaseEvent<"RefusalsCounted"> {
  readonly product: string | null;
  /** Absent: the requests were about the product itself. */
  readonly feature?: string;
  readonly code: string;
  readonly count: number;
  readonly users: readonly string[];
}

/** What was changed of the tokens, users and sessions. */
export type AccessChange =
  "token_made" | "token_revoked" | "user_set" | "user_removed" | "session_revoked";
