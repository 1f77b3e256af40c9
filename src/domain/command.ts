import type { ClockJump } from "./clock-jump-types.ts";
import type { Contact } from "./registration.ts";
import type {
  AuditGap,
  Grant,
  DataFolderKind,
  OpenActivation,
  OpenRequest,
  TrustedVendor,
} from "./state.ts";
import type { AccessChange, ReleasedBy } from "./event.ts";
import type { Terms } from "./terms.ts";
import type { Instant } from "./time.ts";

/** What somebody wants. Fields a caller may leave out are null; the rules say which are needed. */
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
 * A signature is checked before the command takes its turn, with the keys that the vendor had then:
 * what it allows counts only while the vendor's document is still that one. Left out: nothing was
 * checked.
 */
interface CheckedSignature {
  /** The version of the signing vendor's document; null: the vendor was not known. */
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

/** What of ours a license answers. */
export type AnsweredRequest =
  { readonly request: string; readonly nonce: string } | { readonly activation: string };

/** A license document whose signature, appliance and form were checked. */
export interface InstallLicense extends CheckedSignature {
  readonly type: "InstallLicense";
  readonly license: number;
  readonly terms: Terms;
  readonly grant: Omit<Grant, "hardware">;
  /** What it says it answers; null: nothing. */
  readonly answers: AnsweredRequest | null;
  readonly peer: string;
}

export interface RemoveLicense {
  readonly type: "RemoveLicense";
  readonly license: number;
  /** Also while slots of it are borrowed. */
  readonly withBorrows: boolean;
  readonly peer: string;
}

/** How a caller names the license it means. */
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
  /** Null: of every product. */
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

/**
 * A count to add, and limits the caller sets for this call; they can only tighten the license's.
 */
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

/** Puts on record that the clock went ahead. */
export interface JumpClock extends ClockJump {
  readonly type: "JumpClock";
}

export interface SetClockBack extends CheckedSignature {
  readonly type: "SetClockBack";
  readonly to: Instant;
  /** Who signed the time; left out: nobody. */
  readonly vendor?: string;
  /** The question it answers; null: nobody's word but the system clock's. */
  readonly nonce: string | null;
  readonly peer: string;
}

/** Which cloud credentials were replaced; the values are never part of anything here. */
export interface SetKeys {
  readonly type: "SetKeys";
  readonly changed: readonly string[];
  readonly peer: string;
}

/** Gives the whole appliance up here, to be carried to another host. */
export interface MoveAway {
  readonly type: "MoveAway";
  /** Random: the name of this move. */
  readonly move: string;
  readonly peer: string;
}

/** Lines of the audit log that were looked for and are not there, or shall be let go. */
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

/** Do it at most once under this key; the fingerprint tells one command from another. */
export interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
}
