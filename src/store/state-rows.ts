import { lapsedBorrowKey } from "../domain/clock-jumps.ts";
import { SlotPool } from "../domain/pool.ts";
import { newRegistration, type Registration } from "../domain/registration.ts";
import {
  emptyState,
  type Counter,
  type Feature,
  type License,
  type State,
} from "../domain/state.ts";
import type { ChainHead } from "./journal.ts";
import { STATE_FORMAT, type AuditLogEnd, type Snapshot } from "./snapshot.ts";

export function encodeSnapshot(
  state: State,
  { seq, sum, auditSeq, auditSum }: ChainHead,
  { file, length, anchor }: AuditLogEnd,
): Snapshot {
  const { kind, createdAt, latestEventAt, nextSlot, appliance } = state;
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
    for (const held of pool.inSlotOrder()) rows.registrations.push({ license: id, ...held });
    for (const feature of features.values()) {
      rows.features.push({ license: id, terms: feature.terms, counter: feature.counter });
      for (const held of feature.pool.inSlotOrder()) {
        rows.featureRegistrations.push({ license: id, feature: feature.terms.code, ...held });
      }
    }
  }
  return {
    format: STATE_FORMAT,
    kind,
    createdAt,
    mark: latestEventAt,
    nextSlot,
    appliance,
    retired: state.retirement,
    lentDated: state.hasLentTimeDependent,
    clockNonce: state.clockNonce,
    clockAskedAt: state.clockAskedAt,
    covers: { seq, sum },
    audit: { seq: auditSeq, sum: auditSum, file, length, anchor },
    ...rows,
    vendors: [...state.vendors.values()],
    requests: [...state.requests.values()],
    activations: [...state.activations.values()],
    answered: [...state.answeredRequests].map(([request, license]) => ({ request, license })),
    heads: [...state.requestHeads],
    tombstones: [...state.tombstones.values()],
    restores: [...state.restores],
    jumps: [...state.clockJumps],
    lapsed: [...state.lapsedBorrows.values()],
    // What is older than all that is kept needs no excuse for being gone.
    auditGaps: state.auditGaps.filter(({ to }) => to > anchor.seq),
    remembered: [...state.idempotencyRecords].map(([key, done]) => ({ key, ...done })),
    refusals: [...state.refusals.values()],
  };
}

export function decodeSnapshot(snapshot: Snapshot): State {
  const state = emptyState(snapshot.kind);
  state.createdAt = snapshot.createdAt;
  state.latestEventAt = snapshot.mark;
  state.nextSlot = snapshot.nextSlot;
  state.appliance = snapshot.appliance;
  state.retirement = snapshot.retired;
  state.hasLentTimeDependent = snapshot.lentDated;
  state.clockNonce = snapshot.clockNonce;
  state.clockAskedAt = snapshot.clockAskedAt;
  state.clockJumps.push(...snapshot.jumps);
  for (const one of snapshot.lapsed)
    state.lapsedBorrows.set(lapsedBorrowKey(one.license, one.user), one);
  for (const vendor of snapshot.vendors) state.vendors.set(vendor.vendor, vendor);
  for (const request of snapshot.requests) state.requests.set(request.request, request);
  for (const open of snapshot.activations) state.activations.set(open.nonce, open);
  for (const { request, license } of snapshot.answered)
    state.answeredRequests.set(request, license);
  state.requestHeads.push(...snapshot.heads);
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
      counter: copyCounter(counter),
      pool: new SlotPool<Registration>(),
      features: new Map(),
    };
    state.licenses.set(id, license);
    state.products.set(terms.product, [...(state.products.get(terms.product) ?? []), license]);
  }
  for (const { license, terms, counter } of snapshot.features) {
    const feature: Feature = { terms, counter: copyCounter(counter), pool: new SlotPool() };
    requireDefined(state.licenses.get(license)).features.set(terms.code, feature);
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
    const { pool } = requireDefined(state.licenses.get(row.license));
    pool.add(held);
    state.registrationsByPeer.add(held);
  }
  for (const { license, feature, ...held } of snapshot.featureRegistrations) {
    const { pool } = requireDefined(
      requireDefined(state.licenses.get(license)).features.get(feature),
    );
    pool.add(held);
  }
  for (const { key, ...done } of snapshot.remembered) state.idempotencyRecords.add(key, done);
  for (const total of snapshot.refusals) {
    state.refusals.set(JSON.stringify([total.product, total.code]), total);
  }
  return state;
}

export const headOf = ({ covers, audit }: Snapshot): ChainHead => ({
  seq: covers.seq,
  sum: covers.sum,
  auditSeq: audit.seq,
  auditSum: audit.sum,
});

const copyCounter = ({ total, resetAt, counted }: Counter): Counter => ({
  total,
  resetAt,
  counted,
});

function requireDefined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a row names a license or feature that does not exist");
  return value;
}
