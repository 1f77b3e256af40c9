import { lapsedBorrowKey } from "../../domain/clock/clock-jumps.ts";
import { demandKey } from "../../domain/model/demand/episode.ts";
import { refusalKey } from "../../domain/model/demand/refusal-total.ts";
import { loadPlace } from "../../domain/evolve/evolve-queue.ts";
import { MutableRegistrationPool } from "../../domain/evolve/mutable-registration-pool.ts";
import { MutableSlotPool } from "../../domain/evolve/mutable-slot-pool.ts";
import {
  emptyMutableState,
  type MutableCounter,
  type MutableFeature,
  type MutableFeatureRegistration,
  type MutableLicense,
  type MutableRegistration,
} from "../../domain/evolve/mutable-state.ts";
import { recallKey } from "../../domain/model/rules/recall.ts";
import type { Registration } from "../../domain/model/slots/registration.ts";
import type { Counter, State } from "../../domain/model/state.ts";
import type { ChainHead } from "../journal/journal.ts";
import { decodePair, encodeEndedPair, encodePair } from "./pair-rows.ts";
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
  // Sorted by product, newest first: reading the rows in order restores that order.
  for (const license of [...state.products.values()].flat()) {
    const { id, addedAt, movedAt, restored, terms, grant, counter, pool, features } = license;
    const restoredRow = restored !== undefined && { restored };
    rows.licenses.push({ id, addedAt, movedAt, ...restoredRow, terms, grant, counter });
    for (const registration of pool.inSlotOrder())
      rows.registrations.push(encodeRegistration(id, registration));
    for (const feature of features.values()) {
      rows.features.push({ license: id, terms: feature.terms, counter: feature.counter });
      for (const registration of feature.pool.inSlotOrder()) {
        const { identity, ...others } = registration;
        rows.featureRegistrations.push({
          license: id,
          feature: feature.terms.code,
          ...others,
          ...(identity !== null && { identity }),
        });
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
    retiredKeys: [...state.retiredKeys.values()],
    requests: [...state.requests.values()],
    activations: [...state.activations.values()],
    answered: [...state.answeredRequests].map(([request, license]) => ({ request, license })),
    cancelled: [...state.cancelledRequests].map((request) => ({ request })),
    heads: [...state.requestHeads],
    tombstones: [...state.tombstones.values()],
    restores: [...state.restores],
    statements: [...state.statementChains.values()],
    jumps: [...state.clockJumps],
    lapsed: [...state.lapsedBorrows.values()],
    // Gaps before the oldest kept line need no declaration.
    auditGaps: state.auditGaps.filter(({ to }) => to > anchor.seq),
    remembered: [...state.idempotencyRecords].map(([key, record]) => ({ key, ...record })),
    places: encodePlaces(state),
    refusals: [...state.refusals.values()],
    episodes: [...state.openEpisodes.values()],
    endedEpisodes: [...state.endedEpisodes.values()].flat(),
    pair: state.pair && encodePair(state.pair),
    endedPair: state.endedPair && encodeEndedPair(state.endedPair),
    rules: state.rules,
    recalls: [...state.recalls.values()],
  };
}

export function decodeSnapshot(snapshot: Snapshot): State {
  const state = emptyMutableState(snapshot.kind);
  state.createdAt = snapshot.createdAt;
  state.latestEventAt = snapshot.mark;
  state.nextSlot = snapshot.nextSlot;
  state.appliance = snapshot.appliance;
  state.retirement = snapshot.retired;
  state.hasLentTimeDependent = snapshot.lentDated;
  state.clockNonce = snapshot.clockNonce;
  state.clockAskedAt = snapshot.clockAskedAt;
  state.clockJumps.push(...snapshot.jumps);
  for (const borrow of snapshot.lapsed)
    state.lapsedBorrows.set(lapsedBorrowKey(borrow.license, borrow.user), borrow);
  for (const vendor of snapshot.vendors) state.vendors.set(vendor.vendor, vendor);
  for (const keys of snapshot.retiredKeys) state.retiredKeys.set(keys.vendor, keys);
  for (const request of snapshot.requests) state.requests.set(request.request, request);
  for (const activation of snapshot.activations)
    state.activations.set(activation.nonce, activation);
  for (const { request, license } of snapshot.answered)
    state.answeredRequests.set(request, license);
  for (const { request } of snapshot.cancelled) state.cancelledRequests.add(request);
  state.requestHeads.push(...snapshot.heads);
  state.restores.push(...snapshot.restores);
  for (const chain of snapshot.statements) state.statementChains.set(chain.vendor, chain);
  state.auditGaps = snapshot.auditGaps;
  for (const tombstone of snapshot.tombstones) state.tombstones.set(tombstone.license, tombstone);
  for (const { id, addedAt, movedAt, restored, terms, grant, counter } of snapshot.licenses) {
    const license: MutableLicense = {
      id,
      addedAt,
      movedAt,
      ...(restored !== undefined && { restored }),
      terms,
      grant,
      counter: copyCounter(counter),
      pool: new MutableRegistrationPool(),
      features: new Map(),
    };
    state.licenses.set(id, license);
    state.products.set(terms.product, [...(state.products.get(terms.product) ?? []), license]);
  }
  const findLicense = (id: number): MutableLicense => requireDefined(state.licenses.get(id));
  for (const { license, terms, counter } of snapshot.features) {
    const pool = new MutableSlotPool<MutableFeatureRegistration>();
    const feature: MutableFeature = { terms, counter: copyCounter(counter), pool };
    findLicense(license).features.set(terms.code, feature);
  }
  const registrationsByLicense = new Map<number, MutableRegistration[]>();
  for (const row of snapshot.registrations) {
    const registration = decodeRegistration(row);
    const registrations = registrationsByLicense.get(row.license);
    if (registrations === undefined) registrationsByLicense.set(row.license, [registration]);
    else registrations.push(registration);
    state.registrationsByPeer.add(registration);
  }
  for (const [license, registrations] of registrationsByLicense)
    findLicense(license).pool.addAll(registrations);
  const rowsByFeature = Map.groupBy(snapshot.featureRegistrations, ({ license, feature }) =>
    requireDefined(findLicense(license).features.get(feature)),
  );
  for (const [{ pool }, rows] of rowsByFeature) pool.addAll(rows.map(decodeFeatureRegistration));
  state.endedPair = snapshot.endedPair;
  state.pair = snapshot.pair && decodePair(snapshot.pair);
  state.rules = snapshot.rules;
  for (const recall of snapshot.recalls) state.recalls.set(recallKey(recall), recall);
  for (const { key, ...record } of snapshot.remembered) state.idempotencyRecords.add(key, record);
  for (const total of snapshot.refusals) state.refusals.set(refusalKey(total), total);
  for (const episode of snapshot.episodes) state.openEpisodes.set(demandKey(episode), episode);
  for (const [key, ended] of Map.groupBy(snapshot.endedEpisodes, demandKey))
    state.endedEpisodes.set(key, ended);
  // The last: what follows for a place depends on the rules and the licenses.
  for (const { product, ...place } of snapshot.places) loadPlace(state, product, place);
  return state;
}

/** Only what is saved: the rest follows from it, from the rules and from the licenses. */
const encodePlaces = ({ queues }: State): Snapshot["places"] =>
  [...queues].flatMap(({ product, places }) =>
    [...places].map(({ home: _home, rank: _rank, departure: _departure, ...place }) => ({
      product,
      ...place,
    })),
  );

function encodeRegistration(
  license: number,
  registration: Registration,
): Snapshot["registrations"][number] {
  const { setAt, lastSeenAt, contact, takenFrom, identity, ...others } = registration;
  // A member that is undefined is not written: in nearly all rows these have their usual values.
  return {
    license,
    ...others,
    setAt,
    contact,
    lastSeenAt: lastSeenAt === setAt ? undefined : lastSeenAt,
    takenFrom: takenFrom === contact ? undefined : takenFrom,
    identity: identity ?? undefined,
  } as Snapshot["registrations"][number];
}

// Field by field: a spread of the row is slower, and there may be a million rows.
const decodeRegistration = (row: Snapshot["registrations"][number]): MutableRegistration => ({
  slot: row.slot,
  user: row.user,
  registeredAt: row.registeredAt,
  end: row.end,
  setAt: row.setAt,
  contact: row.contact,
  lastSeenAt: row.lastSeenAt ?? row.setAt,
  borrowedUntil: row.borrowedUntil,
  borrowedAt: row.borrowedAt,
  leasedTo: row.leasedTo,
  contactAuditedAt: row.contactAuditedAt,
  isContactUnaudited: row.isContactUnaudited,
  takenFrom: row.takenFrom ?? row.contact,
  identity: row.identity ?? null,
});

const decodeFeatureRegistration = (
  row: Snapshot["featureRegistrations"][number],
): MutableFeatureRegistration => ({
  slot: row.slot,
  user: row.user,
  registeredAt: row.registeredAt,
  end: row.end,
  setAt: row.setAt,
  timeoutAt: row.timeoutAt,
  takenFrom: row.takenFrom,
  identity: row.identity ?? null,
});

export const headOf = ({ covers, audit }: Snapshot): ChainHead => ({
  seq: covers.seq,
  sum: covers.sum,
  auditSeq: audit.seq,
  auditSum: audit.sum,
});

const copyCounter = ({ total, resetAt, counted }: Counter): MutableCounter => ({
  total,
  resetAt,
  counted,
});

function requireDefined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a row names a license or feature that does not exist");
  return value;
}
