import { makeDecision, type Decision } from "../model/decision.ts";
import type { FeatureExpired, SlotExpired } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { makeFeatureExpired } from "../features/features.ts";
import { limits } from "../model/limits.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { makeSlotExpired } from "../slots/slots.ts";
import type { License, State } from "../model/state.ts";
import type { Instant } from "../time.ts";

/**
 * Writes expiries that are due and not written yet. A statement says what was used, so the audit
 * log must say it first.
 */
export interface SettleExpiries {
  readonly type: "SettleExpiries";
  readonly vendor: string;
}

/** The outcome says whether more may be due: one command writes only some of them. */
export function decideSettleExpiries(
  state: State,
  { vendor }: SettleExpiries,
  { at }: RuleContext,
): Result<Decision<{ readonly isDone: boolean }>, Fault> {
  for (const license of state.licenses.values()) {
    if (license.grant.vendor !== vendor) continue;
    // `transact` writes the earlier expiries of the same license before this one.
    const expiry = findExpiries(license, at)
      .toSorted((a, b) => a.at - b.at)
      .at(-1);
    if (expiry !== undefined) return makeDecision([expiry], { isDone: false });
  }
  return makeDecision([], { isDone: true });
}

/** The first expiries of each pool: as many as one command can write. */
function findExpiries({ id, pool, features }: License, at: Instant): Expiry[] {
  const limit = limits.expiriesPerCommand;
  return [
    ...pool.expiryIndex.ended(at, limit).map((holder) => makeSlotExpired(id, holder)),
    ...[...features].flatMap(([code, feature]) =>
      feature.pool.expiryIndex
        .ended(at, limit)
        .map((holder) => makeFeatureExpired(id, code, holder)),
    ),
  ];
}

type Expiry = SlotExpired | FeatureExpired;
