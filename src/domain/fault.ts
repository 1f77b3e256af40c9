import type { Instant } from "./time.ts";

/** A license that was here, and when it was given back to its vendor. */
export interface ReturnedLicense {
  readonly license: number;
  readonly at: Instant;
}

/** Every way the rules say no, each with the facts that would help the caller. */
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
      /** Null: the license has no slots to give. */
      readonly nextFree: Instant | null;
    }
  | {
      readonly code: "slots_capped";
      readonly scope: "user" | "peer";
      readonly slots: number;
    }
  /** `slot`: what was looked for, where it could be either. */
  | { readonly code: "user_not_registered"; readonly slot?: "license" | "feature" }
  | { readonly code: "license_borrow_not_allowed" }
  | { readonly code: "borrow_until_not_valid"; readonly latest: Instant }
  /** `canReturn`: the license lets the device that has the slot give it back before then. */
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
      /** For each address, an hour. */
      readonly mibPerHour: number;
      /** In so many seconds. */
      readonly retryAfterSeconds: number;
    }
  | { readonly code: "clock_suspect"; readonly behind: number }
  | { readonly code: "untrusted_vendor" }
  /**
   * `until` when it was moved here, and was good for a while; `appliances` when it names another
   * appliance than this one.
   */
  | {
      readonly code: "hardware_mismatch";
      readonly until?: Instant;
      readonly appliances?: { readonly signed: string; readonly here: string };
    }
  | { readonly code: "moved_away"; readonly at: Instant }
  | { readonly code: "request_unknown"; readonly returned?: ReturnedLicense }
  | { readonly code: "request_used" }
  | { readonly code: "stale_license"; readonly serial: number; readonly returned?: ReturnedLicense }
  | { readonly code: "unknown_vendor" }
  | { readonly code: "vendor_in_use"; readonly licenses: number }
  | { readonly code: "slots_borrowed"; readonly slots: number }
  | { readonly code: "too_many_audit_gaps"; readonly limit: number };
