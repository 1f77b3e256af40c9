// What a clean stop leaves in the folder, read without any of the server's own code.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Snapshot } from "../../../src/store/snapshot.ts";
import { COUNTING_FEATURE } from "./calls.ts";
import type { KillResults } from "./results.ts";
import { isConsistentSlot, type MaybeSlot, type ExpectedState } from "./expected-state.ts";

/** Of more than this many open requests the oldest are let go. */
const REQUESTS_KEPT = 32;

export function checkState(folder: string, ledger: ExpectedState, figures: KillResults): Snapshot {
  const state = JSON.parse(readFileSync(join(folder, "state.json"), "utf8")) as Snapshot;
  const wrong = (detail: string): void => figures.recordViolation("stops", `state.json: ${detail}`);
  for (const user of ledger.users.values()) {
    const { name, slot, pendingCall } = user;
    const found = findSlot(state, name);
    if (
      isConsistentSlot(slot, found) ||
      (pendingCall !== null && isConsistentSlot(pendingCall.slotAfter, found))
    )
      continue;
    wrong(`${name} is ${JSON.stringify(found)}, not ${JSON.stringify(slot)}`);
  }
  const totals = {
    license: state.licenses[0]?.counter.total ?? Number.NaN,
    feature:
      state.features.find(({ terms }) => terms.code === COUNTING_FEATURE)?.counter.total ??
      Number.NaN,
  };
  for (const which of ["license", "feature"] as const) {
    const { acknowledged, highestShown, maximum } = ledger.counters[which];
    const total = totals[which];
    if (total >= Math.max(acknowledged, highestShown) && total <= maximum) continue;
    wrong(
      `the ${which}'s total is ${total}, not from ${Math.max(acknowledged, highestShown)} to ${maximum}`,
    );
  }
  const requests = new Set(state.requests.map(({ request }) => request));
  for (const { id } of ledger.requests.slice(-REQUESTS_KEPT)) {
    if (!requests.has(id)) figures.recordViolation("requests", `request ${id} is not there`);
  }
  const { seq } = state.covers;
  if (seq < ledger.highestShownSeq)
    wrong(`it covers line ${seq}, and ${ledger.highestShownSeq} had been shown`);
  const next = `journal-${seq + 1}.jsonl`;
  if (statSync(join(folder, next)).size !== 0) wrong(`${next} holds more`);
  return state;
}

function findSlot(state: Snapshot, name: string): MaybeSlot {
  const row = state.registrations.find(({ user }) => user === name);
  if (row === undefined) return null;
  const iso = (at: number): string => new Date(at).toISOString();
  const features = state.featureRegistrations.filter(({ user }) => user === name);
  return {
    info: row.contact.info,
    borrowedUntil: row.borrowedUntil === null ? null : iso(row.borrowedUntil),
    features: features.map(({ feature }) => feature),
    registeredAt: iso(row.registeredAt),
    expiresAt: iso(row.end),
  };
}
