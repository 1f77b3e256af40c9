import type { Fault } from "../model/fault.ts";
import { checkLicenseValid } from "../licenses/licenses.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { PoolName } from "../model/slots/pool-name.ts";
import type { License, State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import { findRuledPool, type Claim } from "./judge-claim.ts";
import type { HourLimit, Limit } from "../model/rules/rule-set.ts";

/** Whether the rules let this caller borrow at all; null: they do. */
export function checkBorrowClaim(state: State, claim: Claim, at: Instant): Fault | null {
  const { product, feature, facts } = claim;
  const denial = findRuledPool(state, claim, at)?.pool.findBorrowDenial(facts);
  if (denial == null) return null;
  const rule = denial.rule === "deny" ? "borrow_deny" : "borrow_allow_only";
  return { code: "not_allowed_by_rules", ...denial, rule, product, feature };
}

/** The longest borrow that the rules allow; null: as the license allows. */
export const findBorrowHours = (state: State, pool: PoolName, at: Instant): HourLimit | null =>
  findRuledPool(state, pool, at)?.pool.rules.borrow?.maxHours ?? null;

/** The longest borrow of a slot of this license, in hours; null: it cannot be borrowed. */
export function findLongestBorrow(state: State, { terms }: License, at: Instant): number | null {
  const { product, borrowHours } = terms;
  const rule = findBorrowHours(state, { product, feature: null }, at);
  return borrowHours === null || rule === null ? borrowHours : Math.min(borrowHours, rule.hours);
}

/**
 * Judges a borrow, and a later end of one. An earlier end, and the same, are always allowed. The
 * caller's own borrow does not count against it.
 */
export function checkBorrow(
  state: State,
  claim: Claim,
  currentEnd: Instant | null,
  newEnd: Instant,
  context: RuleContext,
): Fault | null {
  if (currentEnd !== null && newEnd <= currentEnd) return null;
  const borrow = findRuledPool(state, claim, context.at)?.pool.rules.borrow;
  if (borrow == null) return null;
  const { product, feature } = claim;
  const denied = checkBorrowClaim(state, claim, context.at);
  if (denied !== null) return denied;
  const { maxSlots } = borrow;
  // With 0, nothing is kept, even if a renewal has fewer slots than are borrowed.
  const keepHome = borrow.keepHome?.slots === 0 ? null : borrow.keepHome;
  if (maxSlots === null && keepHome === null) return null;
  const others = countBorrowed(state, product, context.at) - (currentEnd === null ? 0 : 1);
  const makeFault = (kind: "borrow_max_slots" | "borrow_keep_home", limit: Limit): Fault => ({
    code: "slots_capped",
    rule: { kind, name: product, slots: limit.slots, line: limit.line },
    product,
    feature,
  });
  if (maxSlots !== null && others >= maxSlots.slots) return makeFault("borrow_max_slots", maxSlots);
  if (keepHome !== null && others >= countValidSlots(state, product, context) - keepHome.slots)
    return makeFault("borrow_keep_home", keepHome);
  return null;
}

const countBorrowed = ({ products }: State, product: string, at: Instant): number =>
  (products.get(product) ?? []).reduce((sum, { pool }) => sum + pool.countBorrowed(at), 0);

const countValidSlots = (state: State, product: string, context: RuleContext): number =>
  (state.products.get(product) ?? []).reduce(
    (sum, license) =>
      checkLicenseValid(state, license, context) === null ? sum + license.terms.slots : sum,
    0,
  );
