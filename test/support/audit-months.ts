// A site that lives through months, each of which gets a file of the record.
import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { transactOrThrow, readLines, type OpenSite } from "./licensed-store.ts";
import { consume, utc } from "./scenario.ts";

/** The files of the record by their months of 2026. */
export const listAuditMonths = (folder: string): string[] =>
  readdirSync(join(folder, "history"))
    .toSorted()
    .map((name) => name.replace(/^2026-|\.jsonl$/g, ""));

/** What `state.json` says was let go of. */
export const readAuditAnchor = async (folder: string) =>
  (await new StateFile(realDisk, folder).read())?.audit.anchor;

/** The number and sum of the last line of a file. */
export function readMonthEnd(folder: string, month: string) {
  const last = readLines(join(folder, "history", `2026-${month}.jsonl`)).at(-1)?.line;
  return { seq: last?.audit_seq ?? NaN, sum: last?.sum ?? "" };
}

/** Two lines in each of these months, and a checkpoint at the end of each. */
export async function writeMonths(
  { store, clock }: OpenSite,
  ...months: readonly string[]
): Promise<void> {
  for (const month of months) {
    clock.now = utc(`2026-${month}-15T00:00:00Z`);
    await transactOrThrow(store, consume(1));
    await transactOrThrow(store, consume(2));
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
  }
}
