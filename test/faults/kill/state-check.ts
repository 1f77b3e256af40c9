// Checks the state.json that a clean stop writes, without code of the server.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { COUNTING_FEATURE } from "./calls.ts";
import type { KillResults } from "./results.ts";
import { isConsistentSlot, type MaybeSlot, type ExpectedState } from "./expected-state.ts";

/** The server keeps only this many open requests and forgets the oldest. */
const MAX_OPEN_REQUESTS = 32;

export function checkState(
  folder: string,
  expectedState: ExpectedState,
  results: KillResults,
): Snapshot {
  const state = JSON.parse(readFileSync(join(folder, "state.json"), "utf8")) as Snapshot;
  const recordViolation = (detail: string): void =>
    results.recordViolation("stops", `state.json: ${detail}`);
  for (const user of expectedState.users.values()) {
    const { name, slot, pendingCall } = user;
    const found = findSlot(state, name);
    if (
      isConsistentSlot(slot, found) ||
      (pendingCall !== null && isConsistentSlot(pendingCall.slotAfter, found))
    )
      continue;
    recordViolation(`${name} is ${JSON.stringify(found)}, not ${JSON.stringify(slot)}`);
  }
  const totals = {
    license: state.licenses[0]?.counter.total ?? Number.NaN,
    feature:
      state.features.find(({ terms }) => terms.code === COUNTING_FEATURE)?.counter.total ??
      Number.NaN,
  };
  for (const which of ["license", "feature"] as const) {
    const { acknowledged, highestShown, maximum } = expectedState.counters[which];
    const total = totals[which];
    if (total >= Math.max(acknowledged, highestShown) && total <= maximum) continue;
    recordViolation(
      `the ${which}'s total is ${total}, not from ${Math.max(acknowledged, highestShown)} to ${maximum}`,
    );
  }
  const requests = new Set(state.requests.map(({ request }) => request));
  for (const { id } of expectedState.requests.slice(-MAX_OPEN_REQUESTS)) {
    if (!requests.has(id))
      results.recordViolation("requests", `state.json lacks the license request ${id}`);
  }
  const { seq } = state.covers;
  if (seq < expectedState.highestShownSeq)
    recordViolation(
      `it covers line ${seq}, but a read had shown line ${expectedState.highestShownSeq}`,
    );
  const nextSegment = `journal-${seq + 1}.jsonl`;
  if (statSync(join(folder, nextSegment)).size !== 0)
    recordViolation(`${nextSegment} is not empty after a clean stop`);
  return state;
}

function findSlot(state: Snapshot, name: string): MaybeSlot {
  const row = state.registrations.find(({ user }) => user === name);
  if (row === undefined) return null;
  const toIso = (instant: number): string => new Date(instant).toISOString();
  const features = state.featureRegistrations.filter(({ user }) => user === name);
  return {
    info: row.contact.info,
    borrowedUntil: row.borrowedUntil === null ? null : toIso(row.borrowedUntil),
    features: features.map(({ feature }) => feature),
    registeredAt: toIso(row.registeredAt),
    expiresAt: toIso(row.end),
  };
}
