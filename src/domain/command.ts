import type { ClockJump } from "./clock/clock-jump-types.ts";
import type { Contact } from "./slots/registration.ts";
import type {
  AuditGap,
  Grant,
  DataFolderKind,
  OpenActivation,
  OpenRequest,
  TrustedVendor,
} from "./state.ts";
import type { AccessChange, ReleasedBy } from "./event.ts";
import type { Terms } from "./licenses/terms.ts";
import type { Instant } from "./time.ts";

/**
 * A change that a caller requests. Optional fields are null if left out; the rules decide which are
 * required.
 */
export type Command =
  | Create
  | TrustVendor
  | DistrustVendor
  | MakeRequest
  | MakeActivation
  | InstallLicense
  | RemoveLicense
  | Register
  | Borrow
  | Unregister
  | UnregisterAll
  | RegisterFeature
  | ReleaseFeature
  | ReleaseAllFeatures
  | AddConsumption
  | AddFeatureConsumption
  | SetKeys
  | ChangeAccess
  | MoveAway
  | DeclareAuditGaps
  | MarkClock
  | AskClock
  | JumpClock
  | SetClockBack
  | CountRefusals;

export interface Create {
  readonly type: "Create";
  readonly kind: DataFolderKind;
  readonly appliance: string;
}

/**
 * A signature is checked before the command is executed, with the keys that the vendor had then.
 * The check counts only while the vendor's document has the same version. Left out: no signature
 * was checked.
 */
interface CheckedSignature {
  /** The version of the signing vendor's document; null: the vendor was not trusted yet. */
  readonly checkedVersion?: number | null;
}

/** A trust document whose signature was checked. */
export interface TrustVendor extends CheckedSignature {
  readonly type: "TrustVendor";
  readonly vendor: TrustedVendor;
  readonly peer: string;
}

export interface DistrustVendor {
  readonly type: "DistrustVendor";
  readonly vendor: string;
  readonly peer: string;
}

export interface MakeRequest {
  readonly type: "MakeRequest";
  readonly request: Omit<OpenRequest, "at">;
  readonly head: { readonly auditSeq: number; readonly auditSum: string };
  readonly peer: string;
}

export interface MakeActivation {
  readonly type: "MakeActivation";
  readonly activation: Omit<OpenActivation, "at">;
  readonly peer: string;
}

/** The request or activation of this appliance that a license answers. */
export type AnsweredRequest =
  { readonly request: string; readonly nonce: string } | { readonly activation: string };

/** A license document whose signature, appliance and form were checked. */
export interface InstallLicense extends CheckedSignature {
  readonly type: "InstallLicense";
  readonly license: number;
  readonly terms: Terms;
  readonly grant: Omit<Grant, "hardware">;
  /** What the document says it answers; null: nothing. */
  readonly answers: AnsweredRequest | null;
  readonly peer: string;
}

export interface RemoveLicense {
  readonly type: "RemoveLicense";
  readonly license: number;
  /** Remove it even while slots of it are borrowed. */
  readonly withBorrows: boolean;
  readonly peer: string;
}

/** How a caller selects a license. */
export interface LicenseSelector {
  readonly product: string | null;
  readonly licenseId: number | null;
}

export interface Register extends LicenseSelector {
  readonly type: "Register";
  readonly user: string | null;
  readonly contact: Contact;
  /** SHA-256, hex, of the nonce that the lease will carry; null: the caller sent none. */
  readonly nonceDigest: string | null;
}

export interface Borrow extends LicenseSelector {
  readonly type: "Borrow";
  readonly user: string | null;
  readonly contact: Contact;
  /** As in `Register`. */
  readonly nonceDigest: string | null;
  /** Null: as long as allowed. */
  readonly until: Instant | null;
  readonly once: IdempotencyKey | null;
}

export interface Unregister extends LicenseSelector {
  readonly type: "Unregister";
  readonly user: string | null;
  readonly by: ReleasedBy;
  readonly peer: string;
}

export interface UnregisterAll {
  readonly type: "UnregisterAll";
  /** Null: every product. */
  readonly product: string | null;
  readonly peer: string;
}

export interface RegisterFeature extends LicenseSelector {
  readonly type: "RegisterFeature";
  readonly user: string | null;
  readonly feature: string | null;
  readonly peer: string;
}

export interface ReleaseFeature extends LicenseSelector {
  readonly type: "ReleaseFeature";
  readonly user: string | null;
  readonly feature: string | null;
  readonly peer: string;
}

export interface ReleaseAllFeatures {
  readonly type: "ReleaseAllFeatures";
  readonly peer: string;
}

/** A count to add, and limits for this call only; they can only be stricter than the license's. */
export interface ConsumptionRequest {
  readonly user: string | null;
  readonly peer: string;
  readonly count: number;
  readonly allowOverages: boolean | null;
  readonly maxOverages: number | null;
  readonly once: IdempotencyKey | null;
}

export interface AddConsumption extends LicenseSelector, ConsumptionRequest {
  readonly type: "AddConsumption";
}

export interface AddFeatureConsumption extends LicenseSelector, ConsumptionRequest {
  readonly type: "AddFeatureConsumption";
  readonly feature: string | null;
}

export interface MarkClock {
  readonly type: "MarkClock";
}

export interface AskClock {
  readonly type: "AskClock";
  readonly nonce: string;
  readonly peer: string;
}

/** Records that the clock jumped forward. */
export interface JumpClock extends ClockJump {
  readonly type: "JumpClock";
}

export interface SetClockBack extends CheckedSignature {
  readonly type: "SetClockBack";
  readonly to: Instant;
  /** The vendor that signed the time; left out: none. */
  readonly vendor?: string;
  /** The nonce that the signed time answers; null: only the system clock supports the change. */
  readonly nonce: string | null;
  readonly peer: string;
}

/** Which cloud credentials were replaced. Commands and events never contain the values. */
export interface SetKeys {
  readonly type: "SetKeys";
  readonly changed: readonly string[];
  readonly peer: string;
}

/** Retires the appliance on this host, so that it can be moved to another one. */
export interface MoveAway {
  readonly type: "MoveAway";
  /** Random identifier of this move. */
  readonly move: string;
  readonly peer: string;
}

/** Lines of the audit log that were searched for and not found, or that shall be removed. */
export interface DeclareAuditGaps {
  readonly type: "DeclareAuditGaps";
  readonly gaps: readonly Omit<AuditGap, "at">[];
  readonly note: string;
  readonly peer: string;
}

export interface ChangeAccess {
  readonly type: "ChangeAccess";
  readonly change: AccessChange;
  readonly name: string;
  readonly peer: string;
}

export interface CountRefusals {
  readonly type: "CountRefusals";
  readonly refusals: readonly RefusalCount[];
}

export interface RefusalCount {
  readonly product: string | null;
  readonly code: string;
  readonly count: number;
  readonly users: readonly string[];
}

/**
 * Execute the command at most once under this key. The fingerprint distinguishes one command from
 * another.
 */
export interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
}
