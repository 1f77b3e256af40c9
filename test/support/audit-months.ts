// A site whose clock moves through several months; each month has its own audit log file.
import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { StateFile } from "../../src/store/state/state-file.ts";
import { transactOrThrow, readLines, type OpenSite } from "./licensed-store.ts";
import { consume, utc } from "./scenario.ts";

/** The months of 2026 that have an audit log file. */
export const listAuditMonths = (folder: string): string[] =>
  readdirSync(join(folder, "history"))
    .toSorted()
    .map((name) => name.replace(/^2026-|\.jsonl$/g, ""));

/** The end of the deleted part of the audit log, according to `state.json`. */
export const readAuditAnchor = async (folder: string) =>
  (await new StateFile(realDisk, folder).read())?.audit.anchor;

/** Number and hash of the last line of a month's file. */
export function readMonthEnd(folder: string, month: string) {
  const last = readLines(join(folder, "history", `2026-${month}.jsonl`)).at(-1)?.line;
  return { seq: last?.audit_seq ?? NaN, sum: last?.sum ?? "" };
}

/** Writes two lines in each month, with a checkpoint after them. */
export async function writeMonths(
  { store, clock }: OpenSite,
  ...months: readonly string[]
): Promise<void> {
  for (const month of months) {
    clock.now = utc(`2026-${month}-15T00:00:00Z`);
    await transactOrThrow(store, consume(1));
    await transactOrThrow(store, consume(2));
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
  }
}
