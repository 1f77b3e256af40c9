import { sumJumpsSince } from "../clock/clock-jumps.ts";
import type { KeyRemembered } from "../model/event.ts";
import type { IdempotencyRecord } from "../model/idempotency-records.ts";
import { limits } from "../model/limits.ts";
import { later } from "../time.ts";
import type { MutableState } from "./mutable-state.ts";

export function addIdempotencyRecord(
  { idempotencyRecords, clockJumps }: MutableState,
  event: KeyRemembered,
): void {
  const { key, at, fingerprint, outcome, peer } = event;
  idempotencyRecords.add(key, { at, fingerprint, outcome, peer });
  for (let dropped = 0; dropped < limits.idempotencyDropsPerCommand; dropped += 1) {
    const { oldest } = idempotencyRecords;
    if (oldest === null) break;
    // If the clock jumped since, it may be set back, and the key becomes valid again.
    const age = limits.idempotencyAge + sumJumpsSince(clockJumps, oldest.record.at);
    if (at < later(oldest.record.at, age)) break;
    idempotencyRecords.delete(oldest.key);
  }
  const keyToDrop =
    idempotencyRecords.size > limits.idempotencyKeys
      ? idempotencyRecords.oldestKeyOfLargestPeer
      : null;
  if (keyToDrop !== null) idempotencyRecords.delete(keyToDrop);
}

/** Outcomes of a license that was returned must not be repeated, even if it is installed again. */
export function dropIdempotencyRecordsOf(
  { idempotencyRecords }: MutableState,
  license: number,
): void {
  const isOfLicense = ({ outcome }: IdempotencyRecord): boolean =>
    (outcome as { readonly license?: number } | null)?.license === license;
  for (const [key] of [...idempotencyRecords].filter(([, record]) => isOfLicense(record)))
    idempotencyRecords.delete(key);
}
