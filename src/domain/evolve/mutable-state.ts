import type { RecordedJump } from "../model/clock-jump-types.ts";
import type { ClosedEpisode, Episode } from "../model/demand/episode.ts";
import type { RefusalTotal } from "../model/demand/refusal-total.ts";
import { IdempotencyRecords } from "../model/idempotency-records.ts";
import { PeerIndex } from "../model/slots/peer-index.ts";
import type { Recall } from "../model/rules/recall.ts";
import type { Identity } from "../model/rules/caller-facts.ts";
import { RulesIndex } from "../model/rules/rules-index.ts";
import { SlotChangeLog } from "../model/slots/slot-change-log.ts";
import { Queues } from "../model/queue/queues.ts";
import type { Contact } from "../model/slots/contact.ts";
import type {
  BaseRegistration,
  FeatureRegistration,
  LapsedBorrow,
  Registration,
} from "../model/slots/registration.ts";
import type {
  Counter,
  DataFolderKind,
  Feature,
  License,
  OpenActivation,
  OpenRequest,
  RequestHead,
  Restore,
  State,
  Tombstone,
  RetiredKeys,
  TrustedVendor,
} from "../model/state.ts";
import type { StatementChain } from "../model/statements/statement-chain.ts";
import { instant, type Instant } from "../time.ts";
import type { MutableRegistrationPool } from "./mutable-registration-pool.ts";
import type { MutableSlotPool } from "./mutable-slot-pool.ts";

/**
 * The state as the code in this folder sees it, which alone may change it, and as the decoder of
 * `state.json` builds it. Everything else gets it as `State`. A member that is added to `State`
 * must be added here too, or `emptyMutableState` does not compile.
 */
export interface MutableState extends Mutable<Omit<State, keyof Collections>>, Collections {}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface Collections {
  readonly vendors: Map<string, TrustedVendor>;
  readonly retiredKeys: Map<string, RetiredKeys>;
  readonly requests: Map<string, OpenRequest>;
  readonly activations: Map<string, OpenActivation>;
  readonly answeredRequests: Map<string, number>;
  readonly cancelledRequests: Set<string>;
  readonly requestHeads: RequestHead[];
  readonly tombstones: Map<number, Tombstone>;
  readonly restores: Restore[];
  readonly statementChains: Map<string, StatementChain>;
  readonly clockJumps: RecordedJump[];
  readonly lapsedBorrows: Map<string, LapsedBorrow>;
  readonly registrationsByPeer: PeerIndex;
  readonly slotChanges: SlotChangeLog;
  readonly licenses: Map<number, MutableLicense>;
  readonly products: Map<string, readonly MutableLicense[]>;
  readonly queues: Queues;
  readonly idempotencyRecords: IdempotencyRecords;
  readonly refusals: Map<string, RefusalTotal>;
  readonly openEpisodes: Map<string, Episode>;
  readonly endedEpisodes: Map<string, readonly ClosedEpisode[]>;
  readonly recalls: Map<string, Recall>;
  readonly rulesIndex: RulesIndex;
}

export interface MutableLicense
  extends
    Pick<License, "id" | "addedAt">,
    Mutable<Pick<License, "terms" | "grant" | "movedAt" | "restored">> {
  readonly counter: MutableCounter;
  readonly pool: MutableRegistrationPool;
  readonly features: Map<string, MutableFeature>;
}

export interface MutableFeature extends Mutable<Pick<Feature, "terms">> {
  readonly counter: MutableCounter;
  readonly pool: MutableSlotPool<MutableFeatureRegistration>;
}

export type MutableCounter = Mutable<Counter>;
export type MutableHolder = Mutable<BaseRegistration>;
export type MutableRegistration = Mutable<Registration>;
export type MutableFeatureRegistration = Mutable<FeatureRegistration>;

/** A new registration: not borrowed, and used from one machine only. */
export const newRegistration = (
  slot: number,
  user: string,
  registeredAt: Instant,
  end: Instant,
  contact: Contact,
  identity: Identity | null = null,
): MutableRegistration => ({
  slot,
  user,
  registeredAt,
  end,
  setAt: registeredAt,
  contact,
  lastSeenAt: registeredAt,
  borrowedUntil: null,
  borrowedAt: null,
  leasedTo: null,
  contactAuditedAt: null,
  isContactUnaudited: false,
  takenFrom: contact,
  identity,
});

export const emptyMutableState = (kind: DataFolderKind): MutableState => ({
  kind,
  createdAt: instant(0),
  latestEventAt: instant(0),
  nextSlot: 1,
  appliance: "",
  vendors: new Map(),
  retiredKeys: new Map(),
  requests: new Map(),
  activations: new Map(),
  answeredRequests: new Map(),
  cancelledRequests: new Set(),
  requestHeads: [],
  tombstones: new Map(),
  restores: [],
  statementChains: new Map(),
  auditGaps: [],
  retirement: null,
  hasLentTimeDependent: false,
  clockNonce: null,
  clockAskedAt: instant(0),
  clockJumps: [],
  lapsedBorrows: new Map(),
  registrationsByPeer: new PeerIndex(),
  slotChanges: new SlotChangeLog(),
  licenses: new Map(),
  products: new Map(),
  queues: new Queues(),
  idempotencyRecords: new IdempotencyRecords(),
  refusals: new Map(),
  openEpisodes: new Map(),
  endedEpisodes: new Map(),
  pair: null,
  endedPair: null,
  rules: null,
  recalls: new Map(),
  rulesIndex: new RulesIndex(),
});
