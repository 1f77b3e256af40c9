import { PeerIndex } from "./peer-index.ts";
import type { RecordedJump } from "./clock-jump-types.ts";
import type { SlotPool } from "./pool.ts";
import { IdempotencyRecords } from "./idempotency-records.ts";
import type { FeatureRegistration, LapsedBorrow, Registration } from "./registration.ts";
import type { Terms, FeatureTerms } from "./terms.ts";
import { instant, type Instant } from "./time.ts";

/**
 * All license state. Keys are callers' strings, so everything looked up by one is a Map: a plain
 * object would already know a user named `constructor`. Only evolve.ts changes any of it.
 */
export interface State {
  kind: DataFolderKind;
  createdAt: Instant;
  /** The newest instant any event was stamped with; time never runs behind it. */
  latestEventAt: Instant;
  nextSlot: number;
  /** Which appliance this is: the id of its key. */
  appliance: string;
  /** Whose licenses are accepted, by vendor id. */
  readonly vendors: Map<string, TrustedVendor>;
  /** Requests a vendor may still answer, oldest first. */
  readonly requests: Map<string, OpenRequest>;
  /** Activations by their nonce, oldest first. */
  readonly activations: Map<string, OpenActivation>;
  /** Requests that were answered, oldest first, with the license that answered them. */
  readonly answeredRequests: Map<string, number>;
  /** Where the audit chain stood when each of the last requests was made. */
  readonly requestHeads: RequestHead[];
  /** Licenses given back: their serials never come in again. */
  readonly tombstones: Map<number, Tombstone>;
  /** The last times a backup was brought back, oldest first. */
  readonly restores: Restore[];
  /** Lines of the audit log that were declared as gone, in the order of their numbers. */
  auditGaps: readonly AuditGap[];
  /** Everything was moved to another host: nothing is done here any more; null: it was not. */
  retirement: Retirement | null;
  /** Whether a slot or a count was ever granted on a license with an end. */
  hasLentTimeDependent: boolean;
  /** The question a vendor's time may answer; null: none is open. */
  clockNonce: string | null;
  /** When it was asked: an answer kept in a drawer must not turn time back a year later. */
  clockAskedAt: Instant;
  /** Jumps ahead of the clock that were believed, oldest first; a set-back may undo them. */
  readonly clockJumps: RecordedJump[];
  /** Borrows that ended after a jump of the clock, by license and user, for a set-back. */
  readonly lapsedBorrows: Map<string, LapsedBorrow>;
  /** How far the system's clock is behind (ms): a fact of the machine, not of the journal. */
  clockBehind: number;
  /** Is this the machine the license was signed for? A fact of the machine, not of the journal. */
  isSignedForThisMachine: (license: License) => boolean;
  /** The operator's setting, not of the journal either. */
  slotCaps: SlotCaps;
  /** Made of the registrations below. */
  readonly registrationsByPeer: PeerIndex;
  readonly licenses: Map<number, License>;
  /** The same licenses by product code, the most recently added first. */
  readonly products: Map<string, License[]>;
  /** By route, product, user and key, oldest first. */
  readonly idempotencyRecords: IdempotencyRecords;
  /** Refusals since the folder was made, by product and code. */
  readonly refusals: Map<string, RefusalTotal>;
}

/** How many slots one user, and one address, may hold at once; null: as many as there are. */
export interface SlotCaps {
  readonly perUser: number | null;
  readonly perPeer: number | null;
}

/** A demo's folder never serves a site, and the other way round. */
export type DataFolderKind = "site" | "demo";

export interface License {
  readonly id: number;
  readonly addedAt: Instant;
  terms: Terms;
  grant: Grant;
  /** When it was first carried to another host since it was last signed; null: it was not. */
  movedAt: Instant | null;
  readonly counter: Counter;
  readonly pool: SlotPool<Registration>;
  readonly features: Map<string, Feature>;
}

/** The vendor's document behind a license. */
export interface Grant {
  readonly vendor: string;
  readonly serial: number;
  /** The license document; for one that came by code, the bundle that proves it. */
  readonly document: string;
  /** What leases point to, hex: SHA-256 of the document, or of the code. */
  readonly lic: string;
  /** The policy a code was given for; null: it came as a file. */
  readonly policyId: string | null;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
}

export interface HardwareDigest {
  readonly kind: string;
  readonly digest: string;
}

export interface TrustedVendor {
  readonly vendor: string;
  readonly name: string;
  readonly version: number;
  readonly products: readonly string[];
  readonly keys: readonly VendorKey[];
  /** Keys that the vendor ended; absent: none. They stay above for what they signed before. */
  readonly retired?: readonly RetiredKey[];
}

/** Nothing that this key signed comes in any more; what came in before stays. */
export interface RetiredKey {
  /** The key's id. */
  readonly key: string;
  /** From this second since 1970 on; absent: as soon as the vendor's document is known. */
  readonly from?: number;
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
  readonly product: string;
  readonly at: Instant;
  readonly total: number;
  /** Users whose borrowed slots were given back with it. */
  readonly borrows: readonly string[];
}

/** Carried away as one file, under a name of its own. */
export interface Retirement {
  readonly move: string;
  readonly at: Instant;
}

/** A backup was brought back. Two folders with the same last one share every line up to it. */
export interface Restore {
  /** Random: the name of the line of events that begins here. */
  readonly lineage: string;
  readonly at: Instant;
  /** The last line the backup held. */
  readonly seq: number;
  /** The last line of what it replaced, when that was the same appliance and could be read. */
  readonly replaced: number | null;
  /** It was carried here from another host; absent: it was not. */
  readonly moved?: true;
}

/** Lines of the audit log that are no longer there to be read, and why. */
export interface AuditGap {
  readonly reason: "damaged" | "sealed";
  /** The first and the last of them, by their numbers in the audit log. */
  readonly from: number;
  readonly to: number;
  /** The sum of the line before the gap. */
  readonly before: string;
  /** The sum of the last line in the gap: what the line behind it points back to. */
  readonly after: string;
  /** When it was declared. */
  readonly at: Instant;
  /** The lines were written between these two; null: that side is not known. */
  readonly earliest: Instant | null;
  readonly latest: Instant | null;
  /** The files the lines stood in, as they were then. No line is written to them any more. */
  readonly files: readonly AuditGapFile[];
}

export interface AuditGapFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Feature {
  terms: FeatureTerms;
  readonly counter: Counter;
  readonly pool: SlotPool<FeatureRegistration>;
}

export interface Counter {
  total: number;
  /** From here on the total counts as zero; null: never. */
  resetAt: Instant | null;
  /** All that was ever counted, whatever was reset since. */
  counted: number;
}

/** A command done once under a key: what it was, and what came of it. */
export interface IdempotencyRecord {
  readonly at: Instant;
  readonly fingerprint: string;
  readonly outcome: unknown;
  /** The address it came from; null: nobody wrote it down then. */
  readonly peer: string | null;
}

export interface RefusalTotal {
  readonly product: string | null;
  readonly code: string;
  readonly count: number;
  readonly lastAt: Instant;
}

export const emptyState = (kind: DataFolderKind): State => ({
  kind,
  createdAt: instant(0),
  latestEventAt: instant(0),
  nextSlot: 1,
  appliance: "",
  vendors: new Map(),
  requests: new Map(),
  activations: new Map(),
  answeredRequests: new Map(),
  requestHeads: [],
  tombstones: new Map(),
  restores: [],
  auditGaps: [],
  retirement: null,
  hasLentTimeDependent: false,
  clockNonce: null,
  clockAskedAt: instant(0),
  clockJumps: [],
  lapsedBorrows: new Map(),
  clockBehind: 0,
  isSignedForThisMachine: () => true,
  slotCaps: { perUser: null, perPeer: null },
  registrationsByPeer: new PeerIndex(),
  licenses: new Map(),
  products: new Map(),
  idempotencyRecords: new IdempotencyRecords(),
  refusals: new Map(),
});
