import { lapsedKey } from "../domain/clock-jumps.ts";
import { Pool } from "../domain/pool.ts";
import { newRegistration, type Registration } from "../domain/registration.ts";
import {
  emptyState,
  type Counter,
  type Feature,
  type License,
  type State,
} from "../domain/state.ts";
import type { Head } from "./journal.ts";
import { FORMAT, type HistoryEnd, type Snapshot } from "./snapshot.ts";

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
    jumps: [...state.jumps],
    lapsed: [...state.lapsed.values()],
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
  if (value === undefined) throw new Error("a row names a license or feature that does not exist");
  return value;
}
