import type { Once } from "./command.ts";
import { decided, type Decision } from "./decision.ts";
import type { KeyRemembered } from "./event.ts";
import type { Fault } from "./fault.ts";
import { limits } from "./limits.ts";
import { no, type Result } from "./result.ts";
import type { State } from "./state.ts";
import { later, type Instant } from "./time.ts";

/** The calls that can be repeated safely with a key of the caller's. */
export type OnceRoute = "borrow" | "add_consumption" | "add_feature_consumption";

interface Keyed {
  readonly product: string | null;
  readonly once: Once | null;
}

/**
 * What came of the same command under the same key; null when it was not done yet. Outcomes were
 * written by `remember` for the same route, which is what makes the cast true.
 */
export function recall<O>(
  state: State,
  route: OnceRoute,
  { product, once }: Keyed,
  user: string | null,
  at: Instant,
): Result<Decision<O>, Fault> | null {
  if (once === null) return null;
  const known = state.remembered.get(keyOf(state, route, product, user, once));
  if (known === undefined || at >= later(known.at, limits.idempotencyAge)) return null;
  // What a license that was given back since once answered is nobody's any more.
  const { license } = known.outcome as { readonly license: number };
  if (!state.licenses.has(license)) return null;
  if (known.fingerprint !== once.fingerprint) return no({ code: "idempotency_key_reused" });
  return decided([], known.outcome as O);
}

export function remember(
  state: State,
  route: OnceRoute,
  { product, once }: Keyed,
  { user, peer }: { readonly user: string | null; readonly peer: string },
  outcome: unknown,
  at: Instant,
): KeyRemembered[] {
  if (once === null) return [];
  const key = keyOf(state, route, product, user, once);
  return [{ type: "KeyRemembered", at, key, fingerprint: once.fingerprint, outcome, peer }];
}

/** A product left out is the only one installed, and so the same key as when it is named. */
function keyOf(
  state: State,
  route: OnceRoute,
  product: string | null,
  user: string | null,
  { key }: Once,
): string {
  const code = product ?? state.products.keys().next().value ?? null;
  return JSON.stringify([route, code, user, key]);
}
