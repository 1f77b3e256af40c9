// Checks that the audit log of a data folder adds up to what the clients of its server expect.
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { BrokenChainError, readAuditChain, readAuditTexts } from "../shared/audit-chain.ts";
import { FLOATING_FEATURE } from "./calls.ts";
import type { KillResults } from "./results.ts";
import type { ExpectedState } from "./expected-state.ts";

/** The totals of all lines of the audit log. */
interface AuditTotals {
  readonly lines: number;
  readonly counted: { license: number; feature: number };
  /** Slots taken and not released, by user, and by user and feature. */
  readonly slots: ReadonlyMap<string, number>;
}

/**
 * Reads the audit log after a clean stop. It must be one chain, with the line that each license
 * request names; null after a violation.
 */
export function readAuditLog(
  folder: string,
  expectedState: ExpectedState,
  results: KillResults,
): AuditTotals | null {
  const sums = ["0".repeat(64)];
  const counted = { license: 0, feature: 0 };
  const slots = new Map<string, number>();
  const fail = (detail: string): null => {
    results.recordViolation("auditLog", detail);
    return null;
  };
  try {
    for (const { sum, events } of readAuditChain(readAuditTexts(folder))) {
      sums.push(sum);
      for (const { type, user = "", feature, count = 0 } of events) {
        if (type === "ConsumptionAdded") counted.license += count;
        if (type === "FeatureConsumptionAdded") counted.feature += count;
        const change = SLOT_CHANGES.get(type) ?? 0;
        const key = feature === undefined ? user : `${user}, ${feature}`;
        if (change !== 0) slots.set(key, (slots.get(key) ?? 0) + change);
      }
    }
  } catch (error) {
    if (error instanceof BrokenChainError) return fail(error.message);
    throw error;
  }
  for (const { id, audit } of expectedState.requests) {
    const sum = sums[audit.seq];
    if (sum !== audit.sum) {
      return fail(`request ${id} names line ${audit.seq} with checksum ${audit.sum}, not ${sum}`);
    }
  }
  return { lines: sums.length - 1, counted, slots };
}

const SLOT_CHANGES: ReadonlyMap<string, number> = new Map([
  ["SlotTaken", 1],
  ["SlotReleased", -1],
  ["SlotExpired", -1],
  ["FeatureTaken", 1],
  ["FeatureReleased", -1],
  ["FeatureExpired", -1],
]);

/** With no call unanswered, the audit log must add up exactly to the expected state. */
export function checkAuditLog(
  folder: string,
  state: Snapshot,
  expectedState: ExpectedState,
  results: KillResults,
): void {
  const totals = readAuditLog(folder, expectedState, results);
  if (totals === null) return;
  const recordViolation = (detail: string): void => results.recordViolation("auditLog", detail);
  results.counts.auditLines += totals.lines;
  if (totals.lines !== state.audit.seq) {
    recordViolation(`it ends with line ${totals.lines}, but state.json says ${state.audit.seq}`);
  }
  for (const which of ["license", "feature"] as const) {
    const { acknowledged } = expectedState.counters[which];
    const counted = totals.counted[which];
    if (counted !== acknowledged) {
      recordViolation(
        `${which}: the audit log has ${counted} of ${acknowledged} acknowledged counts`,
      );
    }
  }
  for (const { name, slot } of expectedState.users.values()) {
    const slotCount = totals.slots.get(name) ?? 0;
    const featureCount = totals.slots.get(`${name}, ${FLOATING_FEATURE}`) ?? 0;
    if (slotCount !== (slot === null ? 0 : 1) || featureCount !== (slot?.features.length ?? 0)) {
      recordViolation(
        `by the audit log ${name} has ${slotCount} slots and ${featureCount} features, ` +
          `but the expected slot is ${JSON.stringify(slot)}`,
      );
    }
  }
}
