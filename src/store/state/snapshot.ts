import { Type, type Static } from "@sinclair/typebox";
import { TypeCompiler, type TypeCheck } from "@sinclair/typebox/compiler";
import type { RecordedJump } from "../../domain/model/clock-jump-types.ts";
import type { ClosedEpisode, Episode } from "../../domain/model/demand/episode.ts";
import type { RefusalTotal } from "../../domain/model/demand/refusal-total.ts";
import type { IdempotencyRecord } from "../../domain/model/idempotency-records.ts";
import type { Hold, Place, PlaceFacts } from "../../domain/model/queue/place.ts";
import type { Contact } from "../../domain/model/slots/contact.ts";
import type {
  FeatureRegistration,
  LapsedBorrow,
  Registration,
} from "../../domain/model/slots/registration.ts";
import type {
  AuditGap,
  Counter,
  Grant,
  OpenActivation,
  OpenRequest,
  Restore,
  Tombstone,
  RetiredKeys,
  TrustedVendor,
} from "../../domain/model/state.ts";
import type { FeatureTerms, Terms } from "../../domain/model/licenses/terms.ts";
import type { StatementChain } from "../../domain/model/statements/statement-chain.ts";
import { At, Hash, MaybeAt, Seq, type RowOf } from "./basic-rows.ts";
import { EndedPairRow, PairRow } from "./pair-rows.ts";
import { AppliedRulesRow, IdentityRow, RecallRow } from "./rules-rows.ts";
import { GENESIS } from "../../platform/crypto/hash.ts";

/**
 * Incremented with the first change of the schema below after a release; older formats are
 * migrated, newer ones refused.
 */
export const STATE_FORMAT = 6;

const CounterRow = Type.Object({
  total: Type.Integer(),
  resetAt: MaybeAt,
  counted: Type.Integer(),
} satisfies RowOf<Counter>);
const ContactRow = Type.Object({
  hostname: Type.String(),
  ip: Type.String(),
  info: Type.String(),
  peer: Type.String(),
} satisfies RowOf<Contact>);

/** A denied episode. */
const EpisodeRow = {
  product: Type.String(),
  feature: Type.Union([Type.String(), Type.Null()]),
  user: Type.String(),
  code: Type.String(),
  rule: Type.Union([Type.String(), Type.Null()]),
  peer: Type.String(),
  firstAt: At,
  lastAt: At,
  attempts: Seq,
  firstSeq: Seq,
  lastSeq: Seq,
  first: Type.Optional(
    Type.Object({
      code: Type.String(),
      rule: Type.Union([Type.String(), Type.Null()]),
      peer: Type.String(),
    }),
  ),
} satisfies RowOf<Episode>;

/** The contents of `state.json`: the state as rows, and the journal position it covers. */
export const Snapshot = Type.Object({
  format: Type.Literal(STATE_FORMAT),
  kind: Type.Union([Type.Literal("site"), Type.Literal("demo")]),
  createdAt: At,
  mark: At,
  nextSlot: Seq,
  appliance: Type.String(),
  retired: Type.Union([Type.Object({ move: Type.String(), at: At }), Type.Null()]),
  lentDated: Type.Boolean(),
  clockNonce: Type.Union([Type.String(), Type.Null()]),
  clockAskedAt: At,
  jumps: Type.Array(
    Type.Unsafe<RecordedJump>(Type.Object({ from: At, to: At, reason: Type.String() })),
  ),
  lapsed: Type.Array(
    Type.Unsafe<LapsedBorrow>(Type.Object({ license: Seq, user: Type.String(), slot: Seq })),
  ),
  /** The last journal line that this covers; always the end of a closed segment. */
  covers: Type.Object({ seq: Seq, sum: Hash }),
  /** The audit chain up to that line, and the file it was last written to. */
  audit: Type.Object({
    seq: Seq,
    sum: Hash,
    file: Type.Union([Type.String(), Type.Null()]),
    length: Seq,
    /** The last line before those that are kept; older lines may be removed. */
    anchor: Type.Object({ seq: Seq, sum: Hash }),
  }),
  licenses: Type.Array(
    Type.Object({
      id: Seq,
      addedAt: At,
      movedAt: MaybeAt,
      /** Absent: it was not restored on other hardware. */
      restored: Type.Optional(Type.Object({ at: At, serial: Seq })),
      terms: Type.Unsafe<Terms>(Type.Object({ product: Type.String(), slots: Seq })),
      grant: Type.Unsafe<Grant>(Type.Object({ vendor: Type.String(), serial: Seq })),
      counter: CounterRow,
    }),
  ),
  features: Type.Array(
    Type.Object({
      license: Seq,
      terms: Type.Unsafe<FeatureTerms>(Type.Object({ code: Type.String() })),
      counter: CounterRow,
    }),
  ),
  registrations: Type.Array(
    Type.Object({
      license: Seq,
      user: Type.String(),
      slot: Seq,
      registeredAt: At,
      end: At,
      setAt: At,
      /** Absent: `setAt`, as for nearly all slots. */
      lastSeenAt: Type.Optional(At),
      borrowedUntil: MaybeAt,
      borrowedAt: MaybeAt,
      leasedTo: Type.Union([Hash, Type.Null()]),
      contact: ContactRow,
      contactAuditedAt: MaybeAt,
      isContactUnaudited: Type.Boolean(),
      /** Absent: the same as `contact`, as for nearly all slots. */
      takenFrom: Type.Optional(ContactRow),
      /** Absent: null. */
      identity: Type.Optional(IdentityRow),
    } satisfies RowOf<Registration, "license">),
  ),
  featureRegistrations: Type.Array(
    Type.Object({
      license: Seq,
      feature: Type.String(),
      user: Type.String(),
      slot: Seq,
      registeredAt: At,
      end: At,
      setAt: At,
      timeoutAt: At,
      takenFrom: Type.Object({ hostname: Type.String(), peer: Type.String() }),
      identity: Type.Optional(IdentityRow),
    } satisfies RowOf<FeatureRegistration, "license" | "feature">),
  ),
  vendors: Type.Array(
    Type.Unsafe<TrustedVendor>(
      Type.Object({ vendor: Type.String(), version: Seq, document: Type.String() }),
    ),
  ),
  retiredKeys: Type.Array(
    Type.Unsafe<RetiredKeys>(
      Type.Object({
        vendor: Type.String(),
        version: Seq,
        sum: Type.String(),
        keys: Type.Array(Type.String()),
      }),
    ),
  ),
  requests: Type.Array(
    Type.Unsafe<OpenRequest>(Type.Object({ request: Type.String(), nonce: Type.String(), at: At })),
  ),
  activations: Type.Array(
    Type.Unsafe<OpenActivation>(Type.Object({ nonce: Type.String(), at: At })),
  ),
  answered: Type.Array(Type.Object({ request: Type.String(), license: Seq })),
  cancelled: Type.Array(Type.Object({ request: Type.String() })),
  heads: Type.Array(
    Type.Object({ request: Type.String(), auditSeq: Seq, auditSum: Type.String() }),
  ),
  tombstones: Type.Array(
    Type.Unsafe<Tombstone>(Type.Object({ license: Seq, serial: Seq, at: At })),
  ),
  restores: Type.Array(
    Type.Unsafe<Restore>(Type.Object({ lineage: Type.String(), at: At, seq: Seq })),
  ),
  statements: Type.Array(
    Type.Unsafe<StatementChain>(
      Type.Object({
        vendor: Type.String(),
        statements: Type.Array(
          Type.Object({ n: Seq, from: At, to: At, digest: Hash, document: Type.String() }),
        ),
      }),
    ),
  ),
  auditGaps: Type.Array(
    Type.Unsafe<AuditGap>(
      Type.Object({
        from: Seq,
        to: Seq,
        before: Hash,
        after: Hash,
        files: Type.Array(Type.Object({ name: Type.String() })),
      }),
    ),
  ),
  remembered: Type.Array(
    Type.Object({
      key: Type.String(),
      at: At,
      fingerprint: Type.String(),
      outcome: Type.Unknown(),
      peer: Type.String(),
    } satisfies RowOf<IdempotencyRecord, "key">),
  ),
  /** The users who wait for a slot. */
  places: Type.Array(
    Type.Object({
      product: Type.String(),
      number: Seq,
      user: Type.String(),
      licenseId: Type.Union([Seq, Type.Null()]),
      facts: Type.Object({
        host: Type.String(),
        address: Type.String(),
        login: Type.Union([Type.String(), Type.Null()]),
        certificate: Type.Union([Type.String(), Type.Null()]),
      } satisfies RowOf<PlaceFacts>),
      peer: Type.String(),
      since: At,
      order: Type.Integer(),
      hold: Type.Union([Type.Object({ license: Seq, at: At } satisfies RowOf<Hold>), Type.Null()]),
    } satisfies RowOf<Place, "product">),
  ),
  refusals: Type.Array(
    Type.Object({
      product: Type.Union([Type.String(), Type.Null()]),
      /** Null: the product itself. */
      feature: Type.Union([Type.String(), Type.Null()]),
      code: Type.String(),
      count: Seq,
      lastAt: At,
    } satisfies RowOf<RefusalTotal>),
  ),
  episodes: Type.Array(Type.Object(EpisodeRow)),
  /** Whose end is not recorded yet. */
  endedEpisodes: Type.Array(
    Type.Object({
      ...EpisodeRow,
      outcome: Type.Union([Type.Literal("granted"), Type.Literal("gave_up"), Type.Literal("left")]),
      endedAt: At,
    } satisfies RowOf<ClosedEpisode>),
  ),
  /** Null: one host serves alone. */
  pair: Type.Union([PairRow, Type.Null()]),
  endedPair: Type.Union([EndedPairRow, Type.Null()]),
  /** Null: there are no rules. */
  rules: Type.Union([AppliedRulesRow, Type.Null()]),
  recalls: Type.Array(RecallRow),
});

export type Snapshot = Static<typeof Snapshot>;

let compiled: TypeCheck<typeof Snapshot> | null = null;

/** Compiled on first use: commands that read no state do not pay for it. */
export const getSnapshotCheck = (): TypeCheck<typeof Snapshot> =>
  (compiled ??= TypeCompiler.Compile(Snapshot));

export type AuditLogEnd = Pick<Snapshot["audit"], "file" | "length" | "anchor">;

/** The end of the audit log before the first checkpoint. */
export const emptyAuditLogEnd: AuditLogEnd = {
  file: null,
  length: 0,
  anchor: { seq: 0, sum: GENESIS },
};
