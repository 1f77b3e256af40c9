// Checks the audit log as an auditor would: from its own lines only, without code of the server.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { FLOATING_FEATURE } from "./calls.ts";
import type { KillResults } from "./results.ts";
import type { ExpectedState } from "./expected-state.ts";

interface AuditLine {
  readonly audit_seq: number;
  readonly audit_prev: string;
  readonly events: readonly {
    readonly type: string;
    readonly user?: string;
    readonly feature?: string;
    readonly count?: number;
  }[];
}

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
  for (const { line, location } of readLines(join(folder, "history"))) {
    const [content = "", sum = ""] = line.split(/,"sum":"([0-9a-f]{64})"\}$/);
    if (new Bun.CryptoHasher("sha256").update(content).digest("hex") !== sum) {
      return fail(`${location}: the line does not match its checksum`);
    }
    const { audit_seq: seq, audit_prev: prev, events } = JSON.parse(line) as AuditLine;
    if (seq !== sums.length || prev !== sums.at(-1)) {
      return fail(`${location}: line ${seq} follows line ${sums.length - 1}`);
    }
    sums.push(sum);
    for (const { type, user = "", feature, count = 0 } of events) {
      if (type === "ConsumptionAdded") counted.license += count;
      if (type === "FeatureConsumptionAdded") counted.feature += count;
      const change = SLOT_CHANGES.get(type) ?? 0;
      const key = feature === undefined ? user : `${user}, ${feature}`;
      if (change !== 0) slots.set(key, (slots.get(key) ?? 0) + change);
    }
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

/** Reads the files line by line, in the order of their first lines. */
function* readLines(
  folder: string,
): Generator<{ readonly line: string; readonly location: string }> {
  const files = readdirSync(folder).map((name) => {
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    return { name, lines, first: (JSON.parse(lines[0] ?? "{}") as AuditLine).audit_seq };
  });
  for (const { name, lines } of files.toSorted((a, b) => a.first - b.first)) {
    for (const [index, line] of lines.entries()) {
      yield { line, location: `${name}, line ${index + 1}` };
    }
  }
}
