import type { NamedGroup } from "./rules/rule-set.ts";
import type { Instant } from "../time.ts";

/** A license that was returned to its vendor, and when. */
export interface ReturnedLicense {
  readonly license: number;
  readonly at: Instant;
}

/** What a document of a known vendor contradicts. */
export type TrustConflict =
  /** This other trusted vendor already has one of the vendor's products. */
  | { readonly over: "product"; readonly vendor: string }
  /** The id of the license belongs to another vendor or product. */
  | { readonly over: "license"; readonly license: number }
  /** The root signed this installed license: it is the issuing key of another vendor. */
  | { readonly over: "key"; readonly license: number };

/** A limit of the site's rules that was reached. */
export interface CappingRule {
  readonly kind: "each_user" | "each_host" | "group" | "borrow_max_slots" | "borrow_keep_home";
  /** The person, the host or the group that has reached it; of a borrow rule the product. */
  readonly name: string;
  readonly slots: number;
  /** The line of the site's rules. */
  readonly line: number;
}

/** Free slots that are kept for a group, or for the first members of several groups. */
export interface ReservedSlots {
  readonly slots: number;
  readonly groups: readonly NamedGroup[];
}

/** More slots are reserved than the licenses have. */
export interface OverReservedPool {
  readonly product: string;
  readonly feature: string | null;
  readonly reserved: number;
  readonly slots: number;
}

/** A refusal by a limit: of the site's rules, or of the settings. */
export type CappedFault = Extract<Fault, { readonly code: "slots_capped" }>;

/** Every refusal of the rules, each with the facts that help the caller. */
export type Fault =
  | { readonly code: "missing_parameters"; readonly fields: readonly string[] }
  | { readonly code: "unknown_product" }
  | { readonly code: "license_not_found" }
  | { readonly code: "license_not_enabled" }
  | { readonly code: "license_not_active"; readonly start: Instant }
  | {
      readonly code: "license_expired";
      readonly what: "license" | "feature";
      readonly end: Instant;
    }
  | {
      readonly code: "floating_not_available";
      readonly slots: number;
      /** Free slots that are kept for groups which the caller is not in. */
      readonly reserved: readonly ReservedSlots[];
      /** Free slots that are kept for users who waited. */
      readonly holds: number;
      /** Users who wait for a slot. */
      readonly waiting: number;
      /** The caller's reserved group, whose lent slots others use: they are to be recalled. */
      readonly recall?: string;
    }
  | {
      readonly code: "slots_capped";
      readonly scope: "user" | "peer";
      readonly slots: number;
    }
  | {
      readonly code: "slots_capped";
      readonly product: string;
      readonly feature: string | null;
      readonly rule: CappingRule;
    }
  | {
      readonly code: "not_allowed_by_rules";
      readonly rule: "deny" | "allow_only" | "borrow_deny" | "borrow_allow_only";
      /** Null: the caller is in none of the groups of `allow_only`. */
      readonly group: string | null;
      readonly product: string;
      readonly feature: string | null;
      readonly line: number;
    }
  /** Other rules were applied since the caller read them; null: there are none. */
  | { readonly code: "rules_changed"; readonly digest: string | null }
  | { readonly code: "rules_over_reserved"; readonly pools: readonly OverReservedPool[] }
  | { readonly code: "pair_complete"; readonly hosts: readonly string[] }
  | { readonly code: "host_not_admitted"; readonly host: string }
  | { readonly code: "not_a_pair" }
  /** A license of two hosts needs two, with different hardware. */
  | { readonly code: "pair_incomplete"; readonly hosts: readonly string[] }
  /** A license of two hosts, on a host without the log of the pair. */
  | { readonly code: "needs_pair" }
  | { readonly code: "codes_not_for_pairs" }
  /** Two hosts serve the appliance, and only one alone could do it. */
  | { readonly code: "in_a_pair" }
  /** `host` serves alone since then. */
  | { readonly code: "pair_ended"; readonly host: string; readonly at: Instant }
  /** `slot`: which kind of slot was not found, where it could be either. */
  | { readonly code: "user_not_registered"; readonly slot?: "license" | "feature" }
  /** The user has no place in the queue of the product. */
  | { readonly code: "not_waiting" }
  | { readonly code: "license_borrow_not_allowed" }
  /** `rule`: the limit of the site's rules that determines `latest`; absent: the license does. */
  | {
      readonly code: "borrow_until_not_valid";
      readonly latest: Instant;
      readonly rule?: { readonly hours: number; readonly line: number };
    }
  /** `canReturn`: the license allows the device that has the slot to return it before then. */
  | { readonly code: "leased_elsewhere"; readonly until: Instant; readonly canReturn: boolean }
  | { readonly code: "early_return_not_allowed"; readonly until: Instant }
  | { readonly code: "license_not_consumption" }
  | { readonly code: "license_not_enough_consumptions"; readonly left: number }
  | { readonly code: "negative_not_allowed"; readonly total: number; readonly allowed: boolean }
  | { readonly code: "invalid_license_feature_code" }
  | { readonly code: "unsupported_product_feature" }
  | { readonly code: "feature_not_floating" }
  | { readonly code: "feature_not_enough_consumptions"; readonly left: number }
  | { readonly code: "idempotency_key_reused" }
  | {
      readonly code: "audit_budget_exhausted";
      /** The limit for each address. */
      readonly mibPerHour: number;
      /** Seconds to wait before a retry. */
      readonly retryAfterSeconds: number;
    }
  | { readonly code: "clock_suspect"; readonly behind: number }
  /** Without a conflict: no trusted vendor has the key for the product. */
  | { readonly code: "untrusted_vendor"; readonly conflict?: TrustConflict }
  /** A vendor's id with another root than the one that is known here. */
  | { readonly code: "root_changed"; readonly vendor: string }
  /** The trust document is older than the newest one that was installed here. */
  | { readonly code: "trust_older"; readonly version: number }
  /** The key of a document was certified with a trust document that is not installed here. */
  | { readonly code: "trust_outdated"; readonly vendor: string; readonly version: number }
  | { readonly code: "retired_key"; readonly vendor: string; readonly key: string }
  | {
      readonly code: "key_ended";
      readonly vendor: string;
      readonly end: Instant;
      /** The time that was compared: of the appliance, or the one that was signed. */
      readonly at: Instant;
    }
  /**
   * `until` is set if the license was moved here and its grace period has ended; `appliances` if it
   * names another appliance than this one; `pair` if this host leads a pair, with the hosts of it
   * that the license names.
   */
  | {
      readonly code: "hardware_mismatch";
      readonly until?: Instant;
      readonly appliances?: { readonly signed: string; readonly here: string };
      readonly pair?: { readonly leader: string; readonly hosts: readonly string[] };
    }
  | { readonly code: "moved_away"; readonly at: Instant }
  /** `cancelled`: the license answers a request that was cancelled here. */
  | {
      readonly code: "request_unknown";
      readonly returned?: ReturnedLicense;
      readonly cancelled?: true;
    }
  /**
   * `reason`: why the request is no longer open, or, if it is outdated, why it can be answered but
   * not shown again; null: there never was such a request.
   */
  | {
      readonly code: "request_not_found";
      readonly reason: "answered" | "cancelled" | "outdated" | null;
    }
  | { readonly code: "request_used" }
  | { readonly code: "stale_license"; readonly serial: number; readonly returned?: ReturnedLicense }
  | { readonly code: "unknown_vendor" }
  /** `since`: the first day that the next statement covers; null: the vendor has no license yet. */
  | { readonly code: "statement_not_due"; readonly since: Instant | null }
  | { readonly code: "statement_not_found" }
  /** Another statement was made for the vendor at the same time. */
  | { readonly code: "statement_outdated" }
  /** Not even one day fits into a document. */
  | { readonly code: "statement_too_large"; readonly day: Instant }
  /** `restoredAt`: when the site last restored a backup, which may have lost the statement. */
  | {
      readonly code: "statement_unknown";
      readonly number: number;
      readonly restoredAt: Instant | null;
    }
  /** An acknowledgement for another appliance; null: no trusted vendor signed it. */
  | {
      readonly code: "acknowledgement_foreign";
      readonly appliances: { readonly signed: string; readonly here: string } | null;
    }
  | { readonly code: "vendor_in_use"; readonly licenses: number }
  | { readonly code: "slots_borrowed"; readonly slots: number }
  | { readonly code: "too_many_audit_gaps"; readonly limit: number };
