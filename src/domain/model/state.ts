import type { ClosedEpisode, Episode } from "./demand/episode.ts";
import type { RefusalTotal } from "./demand/refusal-total.ts";
import type { HardwareDigest } from "./hardware-digest.ts";
import type { EndedPair, Pair } from "./pair/pair.ts";
import type { LicensedHost, RequestedPair } from "./pair/licensed-host.ts";
import type { Recall } from "./rules/recall.ts";
import type { RuleSet } from "./rules/rule-set.ts";
import type { RulesIndex } from "./rules/rules-index.ts";
import type { PeerIndex } from "./slots/peer-index.ts";
import type { SlotChangeLog } from "./slots/slot-change-log.ts";
import type { RecordedJump } from "./clock-jump-types.ts";
import type { SlotPool } from "./slots/pool.ts";
import type { IdempotencyRecords } from "./idempotency-records.ts";
import type { FeatureRegistration, LapsedBorrow, RegistrationPool } from "./slots/registration.ts";
import type { Queues } from "./queue/queues.ts";
import type { StatementChain } from "./statements/statement-chain.ts";
import type { Terms, FeatureTerms } from "./licenses/terms.ts";
import type { Instant } from "../time.ts";

/**
 * All license state. Keys are strings from callers, so every lookup uses a Map: a plain object
 * would have an entry named `constructor`. Only the code in evolve/ changes it.
 */
export interface State {
  readonly kind: DataFolderKind;
  readonly createdAt: Instant;
  /** The newest timestamp of any event; time never runs behind it. */
  readonly latestEventAt: Instant;
  readonly nextSlot: number;
  /** The appliance id: the id of its key. */
  readonly appliance: string;
  /** The vendors whose licenses are accepted, by vendor id. */
  readonly vendors: ReadonlyMap<string, TrustedVendor>;
  /** By vendor id, also of vendors that are no longer trusted. */
  readonly retiredKeys: ReadonlyMap<string, RetiredKeys>;
  /** Requests a vendor may still answer, oldest first. */
  readonly requests: ReadonlyMap<string, OpenRequest>;
  /** Activations by their nonce, oldest first. */
  readonly activations: ReadonlyMap<string, OpenActivation>;
  /** Requests that were answered, oldest first, with the license that answered them. */
  readonly answeredRequests: ReadonlyMap<string, number>;
  /** The ids of cancelled requests and activations, oldest first. */
  readonly cancelledRequests: ReadonlySet<string>;
  /** The position of the audit chain when each of the last requests was created. */
  readonly requestHeads: readonly RequestHead[];
  /** Returned licenses: the same serials can never be installed again. */
  readonly tombstones: ReadonlyMap<number, Tombstone>;
  /** The most recent restores of a backup, oldest first. */
  readonly restores: readonly Restore[];
  /** The usage statements made for each vendor, by vendor id. */
  readonly statementChains: ReadonlyMap<string, StatementChain>;
  /** Lines of the audit log that were declared missing, in the order of their numbers. */
  readonly auditGaps: readonly AuditGap[];
  /** The appliance was moved to another host and grants nothing here; null: it was not. */
  readonly retirement: Retirement | null;
  /** Whether a slot or a count was ever granted on a time-dependent license. */
  readonly hasLentTimeDependent: boolean;
  /** The nonce that a vendor's signed time may answer; null: none is open. */
  readonly clockNonce: string | null;
  /** When the nonce was created: an old answer must not turn time back a year later. */
  readonly clockAskedAt: Instant;
  /** Accepted forward jumps of the clock, oldest first; a set-back may undo them. */
  readonly clockJumps: readonly RecordedJump[];
  /** Borrows that ended after a clock jump, by license and user; a set-back may restore them. */
  readonly lapsedBorrows: ReadonlyMap<string, LapsedBorrow>;
  /** An index of the registrations in `licenses`. */
  readonly registrationsByPeer: Pick<PeerIndex, "hasAtLeast" | "findEarliestEnd">;
  /** What happened to the registrations since the server read this state from disk. */
  readonly slotChanges: Pick<SlotChangeLog, "position" | "since">;
  readonly licenses: ReadonlyMap<number, License>;
  /** The same licenses by product code, the most recently added first. */
  readonly products: ReadonlyMap<string, readonly License[]>;
  /** The users who wait for a slot, by product. */
  readonly queues: Omit<Queues, "add" | "update" | "remove" | "openCaps">;
  /** By route, product, user and key, oldest first. */
  readonly idempotencyRecords: Pick<IdempotencyRecords, "size" | "get" | typeof Symbol.iterator>;
  /** Refusals since the data folder was created, by product, feature and code. */
  readonly refusals: ReadonlyMap<string, RefusalTotal>;
  /** Denied episodes that have not ended, as they were last recorded, by `demandKey`. */
  readonly openEpisodes: ReadonlyMap<string, Episode>;
  /** Those of users who waited that have ended, until that is recorded, by `demandKey`. */
  readonly endedEpisodes: ReadonlyMap<string, readonly ClosedEpisode[]>;
  /** The hosts that serve this appliance; null: one host alone. */
  readonly pair: Pair | null;
  /** The last pair that ended, until a backup is restored; null: none. */
  readonly endedPair: EndedPair | null;
  /** The site's rules of sharing; null: there are none. */
  readonly rules: AppliedRules | null;
  /** Lent reservations that act as `keep`, by `recallKey`; some may have ended. */
  readonly recalls: ReadonlyMap<string, Recall>;
  /** Counters for the rules, which follow from the rest of the state. */
  readonly rulesIndex: Pick<
    RulesIndex,
    | "findRules"
    | "findPool"
    | "build"
    | "prepare"
    | "discardPrepared"
    | "findHold"
    | "fallenCounters"
  >;
}

/** The rules as they were applied. */
export interface AppliedRules {
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly digest: string;
  readonly rules: RuleSet;
  readonly at: Instant;
}

/** A demo's folder cannot be used by a site, and vice versa. */
export type DataFolderKind = "site" | "demo";

export interface License {
  readonly id: number;
  readonly addedAt: Instant;
  readonly terms: Terms;
  readonly grant: Grant;
  /** When it was first moved to another host since it was last signed; null: it was not. */
  readonly movedAt: Instant | null;
  /** When this serial or an older one was restored on other hardware; absent: it was not. */
  readonly restored?: { readonly at: Instant; readonly serial: number };
  readonly counter: Counter;
  readonly pool: RegistrationPool;
  readonly features: ReadonlyMap<string, Feature>;
}

/** The vendor's document behind a license. */
export interface Grant {
  readonly vendor: string;
  /** The id of the issuing key. */
  readonly key: string;
  /** When that key ends, in seconds since 1970: nothing is installed of it from then on. */
  readonly keyUntil: number;
  readonly serial: number;
  /** The license document; for a license installed by code, the bundle that proves it. */
  readonly document: string;
  /** What leases refer to, hex: SHA-256 of the document, or of the code. */
  readonly lic: string;
  /** The policy of a confirmation code; null: it came as a file. */
  readonly policyId: string | null;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
  /** Both hosts, for a license of two; absent: it is for one host. */
  readonly hosts?: readonly LicensedHost[];
}

/** What a vendor's root says in a trust document, and the document itself. */
export interface SignedTrust {
  readonly vendor: string;
  readonly name: string;
  readonly version: number;
  /** The root. */
  readonly jwk: VendorKey;
  readonly products: readonly string[];
  /** The ids of issuing keys from which nothing is accepted any more. */
  readonly retired: readonly string[];
  /** Every start verifies it. */
  readonly document: string;
  /** SHA-256 of the document. */
  readonly sum: string;
}

/** A vendor by its newest trust document; `products` are without those of other vendors. */
export interface TrustedVendor extends SignedTrust {
  /** How the document differs from the one before; null: it is the first one. */
  readonly notice: { readonly at: Instant; readonly changes: readonly string[] } | null;
}

/** What a root has retired, in any of its documents that was installed here: it only grows. */
export interface RetiredKeys {
  readonly vendor: string;
  readonly jwk: VendorKey;
  /** The newest version that was installed, and SHA-256 of that document. */
  readonly version: number;
  readonly sum: string;
  readonly keys: readonly string[];
}

/** A public key as a JSON Web Key. */
export interface VendorKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
}

export interface OpenRequest {
  readonly request: string;
  readonly nonce: string;
  readonly at: Instant;
  readonly product: string | null;
  readonly licenseKey: string | null;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
  /** Absent: the request says nothing about the wanted license. */
  readonly wants?: RequestWants;
  readonly pair?: RequestedPair;
  readonly report: RequestReport;
}

/** What the site asks the vendor for, in its own words. At least one member is present. */
export interface RequestWants {
  readonly slots?: number;
  /** The last day, as YYYY-MM-DD. */
  readonly until?: string;
  readonly note?: string;
}

/**
 * What a request says of this appliance at the time it was created. With it, the same document can
 * be signed again later.
 */
export interface RequestReport {
  readonly createdAt: Instant;
  readonly licenses: readonly ReportedLicense[];
  readonly trust: readonly Pick<SignedTrust, "vendor" | "version" | "sum">[];
  readonly restores: readonly Restore[];
}

export interface ReportedLicense {
  readonly license: number;
  readonly product: string;
  readonly vendor: string;
  readonly serial: number;
  readonly total: number;
}

/** An activation code that a vendor may still confirm. */
export interface OpenActivation {
  /** 5 random bytes, hex. */
  readonly nonce: string;
  readonly at: Instant;
  readonly licenseKey: string;
  /** As it was typed; empty: none. */
  readonly initializationCode: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
}

export interface RequestHead {
  readonly request: string;
  readonly auditSeq: number;
  readonly auditSum: string;
}

export interface Tombstone {
  readonly license: number;
  readonly serial: number;
  readonly vendor: string;
  /** The issuing key of the license. */
  readonly key: string;
  readonly product: string;
  readonly at: Instant;
  readonly total: number;
  /** Users whose borrowed slots were removed with it. */
  readonly borrows: readonly string[];
}

/** The appliance was moved away as one file, which names this move. */
export interface Retirement {
  readonly move: string;
  readonly at: Instant;
}

/** A backup was restored. Two folders with the same last restore share every line up to it. */
export interface Restore {
  /** Random identifier of the lineage of events that begins here. */
  readonly lineage: string;
  readonly at: Instant;
  /** The last journal line in the backup. */
  readonly seq: number;
  /** The last line of the replaced contents, if they were of the same appliance; else null. */
  readonly replaced: number | null;
  /** It was moved here from another host; absent: it was not. */
  readonly moved?: true;
  /** The licenses that serve for a grace period after it; absent: none. */
  readonly grace?: readonly RestoredLicense[];
}

/** A license that was restored on hardware that it is not signed for. */
export interface RestoredLicense {
  readonly license: number;
  readonly serial: number;
}

/** Lines of the audit log that can no longer be read, and why. */
export interface AuditGap {
  readonly reason: "damaged" | "sealed";
  /** The first and the last missing line, by their numbers in the audit log. */
  readonly from: number;
  readonly to: number;
  /** The sum of the line before the gap. */
  readonly before: string;
  /** The sum of the last line in the gap, which the line after the gap refers to. */
  readonly after: string;
  /** When the gap was declared. */
  readonly at: Instant;
  /** The lines were written between these two instants; null: that side is unknown. */
  readonly earliest: Instant | null;
  readonly latest: Instant | null;
  /** The files that contained the lines, as they were then. No line is written to them any more. */
  readonly files: readonly AuditGapFile[];
}

export interface AuditGapFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Feature {
  readonly terms: FeatureTerms;
  readonly counter: Counter;
  readonly pool: SlotPool<FeatureRegistration>;
}

export interface Counter {
  readonly total: number;
  /** From this instant on the total counts as zero; null: never. */
  readonly resetAt: Instant | null;
  /** The sum of all counts ever, regardless of resets. */
  readonly counted: number;
}
