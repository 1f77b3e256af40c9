import { makeDecision, type Decision } from "../model/decision.ts";
import type { KeyRemembered } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { limits } from "../model/limits.ts";
import { err, type Result } from "../result.ts";
import type { State } from "../model/state.ts";
import { later, type Instant } from "../time.ts";

/**
 * Execute the command at most once under this key. The fingerprint distinguishes one command from
 * another.
 */
export interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
}

/** The calls that a caller can repeat safely by sending an idempotency key. */
export type IdempotentRoute = "borrow" | "add_consumption" | "add_feature_consumption";

interface KeyedCommand {
  readonly product: string | null;
  readonly once: IdempotencyKey | null;
}

/**
 * The recorded outcome of the same command under the same key; null: it was not executed yet. The
 * cast is safe because `recordOutcome` wrote the outcome for the same route.
 */
export function findRecordedOutcome<O>(
  state: State,
  route: IdempotentRoute,
  { product, once }: KeyedCommand,
  user: string | null,
  at: Instant,
): Result<Decision<O>, Fault> | null {
  if (once === null) return null;
  const record = state.idempotencyRecords.get(makeRecordKey(state, route, product, user, once));
  if (record === undefined || at >= later(record.at, limits.idempotencyAge)) return null;
  // Outcomes of a license that was returned since must not be repeated.
  const { license } = record.outcome as { readonly license: number };
  if (!state.licenses.has(license)) return null;
  if (record.fingerprint !== once.fingerprint) return err({ code: "idempotency_key_reused" });
  return makeDecision([], record.outcome as O);
}

export function recordOutcome(
  state: State,
  route: IdempotentRoute,
  { product, once }: KeyedCommand,
  { user, peer }: { readonly user: string | null; readonly peer: string },
  outcome: unknown,
  at: Instant,
): KeyRemembered[] {
  if (once === null) return [];
  const key = makeRecordKey(state, route, product, user, once);
  return [{ type: "KeyRemembered", at, key, fingerprint: once.fingerprint, outcome, peer }];
}

/** A product left out means the only one installed, so it gives the same key as that product. */
function makeRecordKey(
  state: State,
  route: IdempotentRoute,
  product: string | null,
  user: string | null,
  { key }: IdempotencyKey,
): string {
  const code = product ?? state.products.keys().next().value ?? null;
  return JSON.stringify([route, code, user, key]);
}
