import type { Fault } from "../domain/model/fault.ts";
import type { CodeFault } from "../license/codes/code.ts";
import type { VendorFileFault } from "../license/documents/document-fault.ts";
import type { FrameFault } from "../license/qr/frame-fault.ts";
import type { StorageFault } from "../store/journal/storage-fault.ts";

/** Without a plane: a login. `isMissing`: it had no readable name and password. */
interface UnauthorizedFault {
  readonly code: "unauthorized";
  readonly plane?: "open" | "client" | "login" | "admin";
  readonly isMissing?: true;
}

/** Without `busy`: too many failed attempts. `sessions`: too many were started in a minute. */
interface TooManyRequestsFault {
  readonly code: "too_many_requests";
  readonly busy?: "requests" | "streams" | "sessions";
}

/**
 * Role: a user who may not administer. Viewer: a viewer who may not change anything. Metrics: a
 * token that reads the metrics only. User: another user's name. Session: a session that would start
 * another one.
 */
export type ForbiddenReason = "network" | "role" | "viewer" | "metrics" | "user" | "session";

/** Faults of the request itself, found before any rule of the domain decides. */
export type RequestFault =
  | { readonly code: "invalid_json"; readonly isEmpty?: true }
  | { readonly code: "body_not_object" }
  | { readonly code: "unsupported_media_type"; readonly takesFiles?: true }
  | { readonly code: "too_large"; readonly bytes: number }
  | { readonly code: "too_complex" }
  | {
      readonly code: "invalid_type";
      /** Fields that must be strings; the two lists below may also be numbers or booleans. */
      readonly fields: readonly string[];
      readonly numbers?: readonly string[];
      readonly booleans?: readonly string[];
    }
  | { readonly code: "invalid_number"; readonly field: string; readonly limit: number }
  | { readonly code: "invalid_boolean"; readonly field: string }
  | { readonly code: "invalid_timestamp"; readonly field: string }
  | { readonly code: "invalid_characters"; readonly field: string }
  | { readonly code: "invalid_parameter"; readonly field: string; readonly expected: string }
  | TextTooLongFault
  | { readonly code: "not_found" }
  | { readonly code: "method_not_allowed"; readonly allow: readonly string[] }
  | { readonly code: "wrong_host" }
  | { readonly code: "wrong_appliance" }
  | { readonly code: "cross_site" }
  | { readonly code: "forbidden"; readonly reason: ForbiddenReason }
  | UnauthorizedFault
  | { readonly code: "tls_required" }
  | TooManyRequestsFault
  /** The request would replace something without naming what it replaces. */
  | { readonly code: "precondition_required" }
  | { readonly code: "server_not_running" }
  | { readonly code: "internal_error" };

export interface TextTooLongFault {
  readonly code: "too_long";
  readonly field: string;
  readonly bytes: number;
}

/** Faults of logins, tokens and users. */
export type AccessFault =
  | UnauthorizedFault
  | TooManyRequestsFault
  | { readonly code: "unknown_name" }
  | { readonly code: "unknown_session" }
  | { readonly code: "name_taken" }
  | { readonly code: "last_credential" };

/** Faults of a change of settings. `setting` is a name as in the settings file. */
export type SettingFault =
  | { readonly code: "unknown_setting" }
  | { readonly code: "setting_not_editable"; readonly setting: string; readonly reason: string }
  | {
      readonly code: "invalid_setting";
      readonly setting: string;
      /** Completes the sentence "NAME …", without the value. */
      readonly problem: string;
      readonly example: string;
    }
  /** The caller could no longer administer from its address. */
  | { readonly code: "own_address_excluded"; readonly setting: string; readonly address: string };

/** Why settings of a running server were not changed. */
export type SettingsChangeFault = SettingFault | Fault | StorageFault;

/** A file that is not a valid document of the expected kind. */
export interface LicenseFileFault {
  readonly code: "invalid_license_file";
  readonly problem: VendorFileFault;
}

/** This build trusts only the vendor it was built for. */
export interface TrustClosedFault {
  readonly code: "trust_locked";
}

export type ConfirmationCodeFault =
  /** Null: the code is typed correctly, but it confirms something else. */
  | { readonly code: "invalid_confirmation_code"; readonly problem: CodeFault | null }
  | { readonly code: "policy_mismatch" }
  | TooManyRequestsFault;

export interface QrFramesFault {
  readonly code: "invalid_qr_frames";
  readonly problem: FrameFault;
}

export interface AuditLogDamagedFault {
  readonly code: "audit_log_damaged";
  readonly line: number;
}

export type AuditMaintenanceFault =
  | { readonly code: "audit_month_damaged"; readonly file: string }
  | { readonly code: "audit_month_empty" }
  | { readonly code: "audit_month_sealed" }
  | { readonly code: "audit_maintenance_incomplete"; readonly reason: string };

/** Too many jobs of its kind wait for a process of their own. */
interface TooManyJobsFault {
  readonly code: "too_many_jobs";
  /** When it is worth trying again. */
  readonly retryAfterSeconds: number;
}

/** Faults of work that a child process of the server does. */
export type MaintenanceFault =
  | StorageFault
  | TooManyJobsFault
  | { readonly code: "maintenance_failed"; readonly reason: string }
  /** The client disconnected, or the server stops. */
  | { readonly code: "request_cancelled" };

/** Rules that cannot be applied, with their first error. */
export interface InvalidRulesFault {
  readonly code: "invalid_rules";
  readonly errors: number;
  /** 0: the whole text. */
  readonly line: number;
}

/** The backup folder has no backup of that name. */
export interface UnknownBackupFault {
  readonly code: "unknown_backup";
}

/** Why the leadership of a pair was not handed over to `host`. */
export interface HandOverFault {
  readonly code: "hand_over_refused";
  readonly reason: "alone" | "silent" | "behind" | "skew" | "unlicensed" | "not_taken";
  /** Null: there is no other host. */
  readonly host: string | null;
  /** Those that the other host cannot serve. */
  readonly products?: readonly string[];
}

/** Why a host cannot be admitted to a pair. */
export type AdmissionFault =
  | { readonly code: "invalid_pair_request" }
  | { readonly code: "pair_host_taken"; readonly host: string }
  | { readonly code: "pair_same_machine"; readonly host: string }
  | {
      readonly code: "pair_version_differs";
      readonly host: string;
      readonly version: string;
      readonly ownVersion: string;
    }
  | { readonly code: "pair_clock_differs"; readonly host: string; readonly seconds: number };

/** Everything that a request can be refused with. */
export type AnyFault =
  | Fault
  | RequestFault
  | AccessFault
  | SettingFault
  | LicenseFileFault
  | TrustClosedFault
  | ConfirmationCodeFault
  | QrFramesFault
  | AuditLogDamagedFault
  | AuditMaintenanceFault
  | UnknownBackupFault
  | InvalidRulesFault
  | HandOverFault
  | AdmissionFault
  | MaintenanceFault;

export type FaultCode = AnyFault["code"];

export type FaultWithCode<C extends FaultCode> = Extract<AnyFault, { readonly code: C }>;
