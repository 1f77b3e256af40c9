// The auditor's record as an auditor would read it: with nothing but its own lines.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Snapshot } from "../../../src/store/snapshot.ts";
import { FLOATING_FEATURE } from "./calls.ts";
import type { KillResults } from "./results.ts";
import type { ExpectedState } from "./expected-state.ts";

interface Line {
  readonly audit_seq: number;
  readonly audit_prev: string;
  readonly events: readonly {
    readonly type: string;
    readonly user?: string;
    readonly feature?: string;
    readonly count?: number;
  }[];
}

/** What the record adds up to. */
interface AuditTotals {
  readonly lines: number;
  readonly counted: { license: number; feature: number };
  /** Slots taken and not given back, by user, and by user and feature. */
  readonly slots: ReadonlyMap<string, number>;
}

/** After any clean stop: one chain, on which every request stands where it says; null: not so. */
export function readAuditLog(
  folder: string,
  ledger: ExpectedState,
  figures: KillResults,
): AuditTotals | null {
  const sums = ["0".repeat(64)];
  const counted = { license: 0, feature: 0 };
  const slots = new Map<string, number>();
  const wrong = (detail: string): null => {
    figures.recordViolation("record", detail);
    return null;
  };
  for (const { line, place } of linesOf(join(folder, "history"))) {
    const [content = "", sum = ""] = line.split(/,"sum":"([0-9a-f]{64})"\}$/);
    if (new Bun.CryptoHasher("sha256").update(content).digest("hex") !== sum) {
      return wrong(`${place}: the line does not match its checksum`);
    }
    const { audit_seq: seq, audit_prev: prev, events } = JSON.parse(line) as Line;
    if (seq !== sums.length || prev !== sums.at(-1)) {
      return wrong(`${place}: line ${seq} follows line ${sums.length - 1}`);
    }
    sums.push(sum);
    for (const { type, user = "", feature, count = 0 } of events) {
      if (type === "ConsumptionAdded") counted.license += count;
      if (type === "FeatureConsumptionAdded") counted.feature += count;
      const step = STEPS.get(type) ?? 0;
      const held = feature === undefined ? user : `${user}, ${feature}`;
      if (step !== 0) slots.set(held, (slots.get(held) ?? 0) + step);
    }
  }
  for (const { id, audit } of ledger.requests) {
    const found = sums[audit.seq];
    if (found !== audit.sum) {
      return wrong(`request ${id} says that line ${audit.seq} is ${audit.sum}, not ${found}`);
    }
  }
  return { lines: sums.length - 1, counted, slots };
}

const STEPS: ReadonlyMap<string, number> = new Map([
  ["SlotTaken", 1],
  ["SlotReleased", -1],
  ["SlotExpired", -1],
  ["FeatureTaken", 1],
  ["FeatureReleased", -1],
  ["FeatureExpired", -1],
]);

/** With nothing open any more: it adds up to all that is known. */
export function checkAuditLog(
  folder: string,
  state: Snapshot,
  ledger: ExpectedState,
  figures: KillResults,
): void {
  const sums = readAuditLog(folder, ledger, figures);
  if (sums === null) return;
  const wrong = (detail: string): void => figures.recordViolation("record", detail);
  figures.counts.recorded += sums.lines;
  if (sums.lines !== state.audit.seq) {
    wrong(`it ends with line ${sums.lines}, the state says ${state.audit.seq}`);
  }
  for (const which of ["license", "feature"] as const) {
    const { acknowledged } = ledger.counters[which];
    const counted = sums.counted[which];
    if (counted !== acknowledged) wrong(`${which}: ${counted} of ${acknowledged} are recorded`);
  }
  for (const { name, slot } of ledger.users.values()) {
    const found = [sums.slots.get(name) ?? 0, sums.slots.get(`${name}, ${FLOATING_FEATURE}`) ?? 0];
    if (!Bun.deepEquals(found, [slot === null ? 0 : 1, slot?.features.length ?? 0])) {
      wrong(`${name} holds ${found.join(" and ")} by the record, and ${JSON.stringify(slot)}`);
    }
  }
}

/** Line by line, file after file in the order of their first lines. */
function* linesOf(folder: string): Generator<{ readonly line: string; readonly place: string }> {
  const files = readdirSync(folder).map((name) => {
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    return { name, lines, first: (JSON.parse(lines[0] ?? "{}") as Line).audit_seq };
  });
  for (const { name, lines } of files.toSorted((a, b) => a.first - b.first)) {
    for (const [index, line] of lines.entries()) {
      yield { line, place: `${name}, line ${index + 1}` };
    }
  }
}
