import type { IdempotencyKey } from "./command.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { KeyRemembered } from "./event.ts";
import type { Fault } from "./fault.ts";
import { limits } from "./limits.ts";
import { err, type Result } from "./result.ts";
import type { State } from "./state.ts";
import { later, type Instant } from "./time.ts";

/** The calls that can be repeated safely with a key of the caller's. */
export type IdempotentRoute = "borrow" | "add_consumption" | "add_feature_consumption";

interface KeyedCommand {
  readonly product: string | null;
  readonly once: IdempotencyKey | null;
}

/**
 * What came of the same command under the same key; null when it was not done yet. Outcomes were
 * written by `remember` for the same route, which is what makes the cast true.
 */
export function findRecordedOutcome<O>(
  state: State,
  route: IdempotentRoute,
  { product, once }: KeyedCommand,
  user: string | null,
  at: Instant,
): Result<Decision<O>, Fault> | null {
  if (once === null) return null;
  const known = state.idempotencyRecords.get(makeRecordKey(state, route, product, user, once));
  if (known === undefined || at >= later(known.at, limits.idempotencyAge)) return null;
  // What a license that was given back since once answered is nobody's any more.
  const { license } = known.outcome as { readonly license: number };
  if (!state.licenses.has(license)) return null;
  if (known.fingerprint !== once.fingerprint) return err({ code: "idempotency_key_reused" });
  return makeDecision([], known.outcome as O);
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

/** A product left out is the only one installed, and so the same key as when it is named. */
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
