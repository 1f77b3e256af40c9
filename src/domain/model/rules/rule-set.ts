import type { PoolName } from "../slots/pool-name.ts";

/**
 * The site's rules of sharing: who may have a slot, and how many. They can only narrow what a
 * license grants. A rule set is plain data: it is in the journal, in `state.json`, and in backups.
 */
export interface RuleSet {
  /** Sorted by name. */
  readonly groups: readonly Group[];
  /** One entry per product, and one per floating feature, merged from all rules for it. */
  readonly pools: readonly PoolRules[];
}

/** What a group can look at. */
export const GROUP_FACTS = ["users", "hosts", "logins", "certificates", "networks"] as const;

/** A caller belongs to a group if any of its patterns matches. */
export interface Group {
  readonly name: string;
  /** Person names. In these four, `*` at the end matches any rest. */
  readonly users: readonly string[];
  /** Host names, as callers send them. */
  readonly hosts: readonly string[];
  /** Names of logins, with client_auth = "login". */
  readonly logins: readonly string[];
  /** Names of client certificates, with client_auth = "mtls". */
  readonly certificates: readonly string[];
  /** Networks of the observed address, as `10.1.4.0/24`. */
  readonly networks: readonly string[];
  readonly ignoreCase: boolean;
}

/** The rules for the slots of a product, or for those of one of its floating features. */
export interface PoolRules extends PoolName {
  readonly deny: readonly NamedGroup[];
  /** Null: everybody who is not denied. */
  readonly allowOnly: readonly NamedGroup[] | null;
  /** Sorted by group: a caller's home is the first one that it belongs to. */
  readonly reservations: readonly Reservation[];
  readonly eachUser: Limit | null;
  readonly eachHost: Limit | null;
  /** Sorted by group. */
  readonly groupLimits: readonly GroupLimit[];
  /** Null: as the license allows. Always null for a feature. */
  readonly borrow: BorrowRules | null;
  /** Null: the defaults. Always null for a feature, which has no queue. */
  readonly queue: QueueRules | null;
}

/** Where a rule is written: refusals and explanations name the line. */
export interface RulePosition {
  readonly line: number;
}

export interface NamedGroup extends RulePosition {
  readonly group: string;
}

export interface Reservation extends NamedGroup {
  readonly slots: number;
  /** What others may do with slots that the group does not use. */
  readonly idle: "keep" | "lend";
}

export interface Limit extends RulePosition {
  readonly slots: number;
}

/** A longest time. */
export interface HourLimit extends RulePosition {
  readonly hours: number;
}

export interface GroupLimit extends Limit, NamedGroup {}

export interface BorrowRules {
  readonly deny: readonly NamedGroup[];
  readonly allowOnly: readonly NamedGroup[] | null;
  readonly maxHours: HourLimit | null;
  /** Slots of the product that may be borrowed at once. */
  readonly maxSlots: Limit | null;
  /** Slots of the product that may not be borrowed. */
  readonly keepHome: Limit | null;
}

export interface QueueRules extends RulePosition {
  /** Groups, the most urgent first. Members of none of them come last. */
  readonly priority: readonly string[];
  /** How long a place lasts without contact, and a hold until it is collected. */
  readonly holdSeconds: number;
  readonly maxWaiting: number;
}

export const DEFAULT_QUEUE_RULES: QueueRules = {
  line: 0,
  priority: [],
  holdSeconds: 30,
  maxWaiting: 1_000,
};
