import { Type, type Static } from "@sinclair/typebox";
import { TypeCompiler, type TypeCheck } from "@sinclair/typebox/compiler";
import { lapsedKey } from "../domain/clock-jumps.ts";
import { Pool } from "../domain/pool.ts";
import type { RecordedJump } from "../domain/jump.ts";
import { newRegistration, type LapsedBorrow, type Registration } from "../domain/registration.ts";
import {
  emptyState,
  type AuditGap,
  type Counter,
  type Feature,
  type Grant,
  type License,
  type OpenActivation,
  type OpenRequest,
  type Restore,
  type State,
  type Tombstone,
  type TrustedVendor,
} from "../domain/state.ts";
import type { FeatureTerms, Terms } from "../domain/terms.ts";
import type { Instant } from "../domain/time.ts";
import { GENESIS } from "../platform/hash.ts";
import type { Head } from "./journal.ts";

/** Raised by one with every change to what follows; older ones are migrated, newer ones refused. */
export const FORMAT = 5;

const At = Type.Unsafe<Instant>(Type.Integer());
const MaybeAt = Type.Union([At, Type.Null()]);
const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
const Seq = Type.Integer({ minimum: 0 });
const CounterRow = Type.Object({
  total: Type.Integer(),
  resetAt: MaybeAt,
  counted: Type.Integer(),
});
const ContactRow = Type.Object({
  hostname: Type.String(),
  ip: Type.String(),
  info: Type.String(),
  peer: Type.String(),
});

/** What `state.json` holds: the state as rows, and the place in the journal it stands at. */
export const Snapshot = Type.Object({
  format: Type.Literal(FORMAT),
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
  /** The last journal line this covers; always the end of a closed segment. */
  covers: Type.Object({ seq: Seq, sum: Hash }),
  /** The audit chain up to there, and the file it was last written to. */
  audit: Type.Object({
    seq: Seq,
    sum: Hash,
    file: Type.Union([Type.String(), Type.Null()]),
    length: Seq,
    /** The last line before those that are kept; what is older may be gone. */
    anchor: Type.Object({ seq: Seq, sum: Hash }),
  }),
  licenses: Type.Array(
    Type.Object({
      id: Seq,
      addedAt: At,
      movedAt: MaybeAt,
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
      borrowedUntil: MaybeAt,
      borrowedAt: MaybeAt,
      leasedTo: Type.Union([Hash, Type.Null()]),
      contact: ContactRow,
      contactAuditedAt: MaybeAt,
      isContactUnaudited: Type.Boolean(),
    }),
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
    }),
  ),
  vendors: Type.Array(
    Type.Unsafe<TrustedVendor>(Type.Object({ vendor: Type.String(), version: Seq })),
  ),
  requests: Type.Array(
    Type.Unsafe<OpenRequest>(Type.Object({ request: Type.String(), nonce: Type.String(), at: At })),
  ),
  activations: Type.Array(
    Type.Unsafe<OpenActivation>(Type.Object({ nonce: Type.String(), at: At })),
  ),
  answered: Type.Array(Type.Object({ request: Type.String(), license: Seq })),
  heads: Type.Array(
    Type.Object({ request: Type.String(), auditSeq: Seq, auditSum: Type.String() }),
  ),
  tombstones: Type.Array(
    Type.Unsafe<Tombstone>(Type.Object({ license: Seq, serial: Seq, at: At })),
  ),
  restores: Type.Array(
    Type.Unsafe<Restore>(Type.Object({ lineage: Type.String(), at: At, seq: Seq })),
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
      peer: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  refusals: Type.Array(
    Type.Object({
      product: Type.Union([Type.String(), Type.Null()]),
      code: Type.String(),
      count: Seq,
      lastAt: At,
    }),
  ),
});

export type Snapshot = Static<typeof Snapshot>;

let compiled: TypeCheck<typeof Snapshot> | null = null;

/** Compiled on first use: a command that reads no state does not pay for it. */
export const snapshotCheck = (): TypeCheck<typeof Snapshot> =>
  (compiled ??= TypeCompiler.Compile(Snapshot));

export type HistoryEnd = Pick<Snapshot["audit"], "file" | "length" | "anchor">;

/** Nothing was folded yet. */
export const noHistory: HistoryEnd = {
  file: null,
  length: 0,
  anchor: { seq: 0, sum: GENESIS },
};

export function encodeSnapshot(
  state: State,
  { seq, sum, auditSeq, auditSum }: Head,
  { file, length, anchor }: HistoryEnd,
): Snapshot {
  const { kind, createdAt, mark, nextSlot, appliance } = state;
  const rows: Pick<Snapshot, "licenses" | "features" | "registrations" | "featureRegistrations"> = {
    licenses: [],
    features: [],
    registrations: [],
    featureRegistrations: [],
  };
  // By product and newest first within it: reading the rows back in order keeps that order.
  for (const license of [...state.products.values()].flat()) {
    const { id, addedAt, movedAt, terms, grant, counter, pool, features } = license;
    rows.licenses.push({ id, addedAt, movedAt, terms, grant, counter });
    for (const held of pool.inOrder()) rows.registrations.push({ license: id, ...held });
    for (const feature of features.values()) {
      rows.features.push({ license: id, terms: feature.terms, counter: feature.counter });
      for (const held of feature.pool.inOrder()) {
        rows.featureRegistrations.push({ license: id, feature: feature.terms.code, ...held });
      }
    }
  }
  return {
    format: FORMAT,
    kind,
    createdAt,
    mark,
    nextSlot,
    appliance,
    retired: state.retired,
    lentDated: state.lentDated,
    clockNonce: state.clockNonce,
    clockAskedAt: state.clockAskedAt,
    jumps: [...state.jumps],
    lapsed: [...state.lapsed.values()],
    covers: { seq, sum },
    audit: { seq: auditSeq, sum: auditSum, file, length, anchor },
    ...rows,
    vendors: [...state.vendors.values()],
    requests: [...state.requests.values()],
    activations: [...state.activations.values()],
    answered: [...state.answered].map(([request, license]) => ({ request, license })),
    heads: [...state.heads],
    tombstones: [...state.tombstones.values()],
    restores: [...state.restores],
    // What is older than all that is kept needs no excuse for being gone.
    auditGaps: state.auditGaps.filter(({ to }) => to > anchor.seq),
    remembered: [...state.remembered].map(([key, done]) => ({ key, ...done })),
    refusals: [...state.refusals.values()],
  };
}

export function decodeSnapshot(snapshot: Snapshot): State {
  const state = emptyState(snapshot.kind);
  state.createdAt = snapshot.createdAt;
  state.mark = snapshot.mark;
  state.nextSlot = snapshot.nextSlot;
  state.appliance = snapshot.appliance;
  state.retired = snapshot.retired;
  state.lentDated = snapshot.lentDated;
  state.clockNonce = snapshot.clockNonce;
  state.clockAskedAt = snapshot.clockAskedAt;
  state.jumps.push(...snapshot.jumps);
  for (const one of snapshot.lapsed) state.lapsed.set(lapsedKey(one.license, one.user), one);
  for (const vendor of snapshot.vendors) state.vendors.set(vendor.vendor, vendor);
  for (const request of snapshot.requests) state.requests.set(request.request, request);
  for (const open of snapshot.activations) state.activations.set(open.nonce, open);
  for (const { request, license } of snapshot.answered) state.answered.set(request, license);
  state.heads.push(...snapshot.heads);
  state.restores.push(...snapshot.restores);
  state.auditGaps = snapshot.auditGaps;
  for (const tombstone of snapshot.tombstones) state.tombstones.set(tombstone.license, tombstone);
  for (const { id, addedAt, movedAt, terms, grant, counter } of snapshot.licenses) {
    const license: License = {
      id,
      addedAt,
      movedAt,
      terms,
      grant,
      counter: counterOf(counter),
      pool: new Pool<Registration>(),
      features: new Map(),
    };
    state.licenses.set(id, license);
    state.products.set(terms.product, [...(state.products.get(terms.product) ?? []), license]);
  }
  for (const { license, terms, counter } of snapshot.features) {
    const feature: Feature = { terms, counter: counterOf(counter), pool: new Pool() };
    found(state.licenses.get(license)).features.set(terms.code, feature);
  }
  for (const row of snapshot.registrations) {
    // Field by field: copying the rest of a row is slower, and there may be a million.
    const { slot, user, registeredAt, end, contact } = row;
    const held = newRegistration(slot, user, registeredAt, end, contact);
    held.setAt = row.setAt;
    held.borrowedUntil = row.borrowedUntil;
    held.borrowedAt = row.borrowedAt;
    held.leasedTo = row.leasedTo;
    held.contactAuditedAt = row.contactAuditedAt;
    held.isContactUnaudited = row.isContactUnaudited;
    const { pool } = found(state.licenses.get(row.license));
    pool.add(held);
    state.byPeer.add(held);
  }
  for (const { license, feature, ...held } of snapshot.featureRegistrations) {
    const { pool } = found(found(state.licenses.get(license)).features.get(feature));
    pool.add(held);
  }
  for (const { key, ...done } of snapshot.remembered) state.remembered.add(key, done);
  for (const total of snapshot.refusals) {
    state.refusals.set(JSON.stringify([total.product, total.code]), total);
  }
  return state;
}

export const headOf = ({ covers, audit }: Snapshot): Head => ({
  seq: covers.seq,
  sum: covers.sum,
  auditSeq: audit.seq,
  auditSum: audit.sum,
});

const counterOf = ({ total, resetAt, counted }: Counter): Counter => ({
  total,
  resetAt,
  counted,
});

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a row names a license or feature that is not there");
  return value;
}
