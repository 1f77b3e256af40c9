import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault, OverReservedPool } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import type { PoolName } from "../model/slots/pool-name.ts";
import type { RuleSet } from "../model/rules/rule-set.ts";

export interface ApplyRules {
  readonly type: "ApplyRules";
  /** Empty: from now on there are no rules. */
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly digest: string;
  readonly rules: RuleSet;
  /** The digest of the rules that the caller wants to replace; null: none; `*`: any. */
  readonly expected: string | null;
  readonly peer: string;
}

/** Replaces all rules. Nothing that was granted changes. */
export function decideApplyRules(
  state: State,
  { text, digest, rules, expected, peer }: ApplyRules,
  { at }: RuleContext,
): Result<Decision<{ readonly digest: string | null }>, Fault> {
  const current = state.rules?.digest ?? null;
  if (expected !== "*" && expected !== current)
    return err({ code: "rules_changed", digest: current });
  const pools = findOverReserved(state, rules);
  if (pools.length > 0) return err({ code: "rules_over_reserved", pools });
  const outcome = { digest: text === "" ? null : digest };
  if (outcome.digest === current) return makeDecision([], outcome);
  return makeDecision([{ type: "RulesApplied", at, text, digest, rules, peer }], outcome);
}

/** The pools of installed products with more reserved slots than their licenses have. */
export function findOverReserved(state: State, rules: RuleSet): OverReservedPool[] {
  const pools: OverReservedPool[] = [];
  for (const pool of rules.pools) {
    const { product, feature } = pool;
    if (!state.products.has(product)) continue;
    const reserved = pool.reservations.reduce((sum, { slots }) => sum + slots, 0);
    const slots = countLicensedSlots(state, pool);
    if (reserved > slots) pools.push({ product, feature, reserved, slots });
  }
  return pools;
}

/** The slots of all installed licenses, also of those that grant nothing today. */
function countLicensedSlots({ products }: State, { product, feature }: PoolName): number {
  let sum = 0;
  for (const { terms, features } of products.get(product) ?? []) {
    sum += feature === null ? terms.slots : (features.get(feature)?.terms.floating?.slots ?? 0);
  }
  return sum;
}
