import type { IdempotencyKey } from "../idempotency/idempotency.ts";
import { limits } from "../model/limits.ts";
import { findHeldSlot } from "../model/slots/pool.ts";
import type { Counter, License } from "../model/state.ts";
import type { ConsumptionTerms } from "../model/licenses/terms.ts";
import { findNextPeriodStart, type Instant } from "../time.ts";

/** A count to add, and limits for this call only; they can only be stricter than the license's. */
export interface ConsumptionRequest {
  readonly user: string | null;
  readonly peer: string;
  readonly count: number;
  readonly allowOverages: boolean | null;
  readonly maxOverages: number | null;
  readonly once: IdempotencyKey | null;
}

/**
 * The total that applies at `at`: zero from the end of its period on, whether or not an event says
 * so.
 */
export const totalAt = ({ total, resetAt }: Omit<Counter, "counted">, at: Instant): number =>
  resetAt !== null && at >= resetAt ? 0 : total;

/** The end of the period that `at` lies in. */
export function findNextReset(
  terms: ConsumptionTerms | null,
  counter: Pick<Counter, "resetAt">,
  at: Instant,
): Instant | null {
  if (terms?.period == null) return null;
  // Within one period the boundary is already known: the calendar is computed once per period, not
  // once per call.
  if (counter.resetAt !== null && at < counter.resetAt) return counter.resetAt;
  return findNextPeriodStart(terms.period, at);
}

/** The highest total allowed, with as much overage as license and caller allow. */
function computeAllowance(
  terms: ConsumptionTerms,
  { allowOverages, maxOverages }: OverageLimits,
): number {
  if (terms.max === null) return limits.consumptionTotal;
  const overages = allowOverages === false ? 0 : Math.min(terms.overages, maxOverages ?? Infinity);
  return Math.min(terms.max + overages, limits.consumptionTotal);
}

type OverageLimits = Pick<ConsumptionRequest, "allowOverages" | "maxOverages">;

/**
 * If the user holds a slot of a license, the count goes to that license; else any license that can
 * take it all.
 */
export function preferLicenseHeldBy(
  licenses: readonly License[],
  user: string | null,
  at: Instant,
): readonly License[] {
  if (user === null) return licenses;
  const heldLicenses = licenses.filter(({ pool }) => findHeldSlot(pool, user, at) !== null);
  return heldLicenses.length === 0 ? licenses : heldLicenses.slice(0, 1);
}

interface CounterChoice {
  readonly license: License;
  readonly total: number;
  readonly resetAt: Instant | null;
}

type CountRefusal =
  | { readonly refused: "enough"; readonly left: number }
  | { readonly refused: "negative"; readonly total: number; readonly allowed: boolean };

/** The terms and counter to use: those of the license, or of one of its features. */
type CounterSelector = (
  license: License,
) => { terms: ConsumptionTerms | null; counter: Counter } | null;

const selectLicenseCounter: CounterSelector = ({ terms, counter }) => ({
  terms: terms.consumption,
  counter,
});

/**
 * The first license that can take the whole count (a count is never split), or how much would have
 * fitted.
 */
export function chooseCounter(
  licenses: readonly License[],
  command: OverageLimits & Pick<ConsumptionRequest, "count">,
  at: Instant,
  selectCounter: CounterSelector = selectLicenseCounter,
): CounterChoice | CountRefusal {
  const { count } = command;
  let refusal: CountRefusal | null = null;
  for (const license of licenses) {
    const { terms, counter } = selectCounter(license) ?? {};
    if (terms == null || counter === undefined) continue;
    const before = totalAt(counter, at);
    const total = before + count;
    if (count < 0 && (!terms.negative || total < 0)) {
      refusal ??= { refused: "negative", total: before, allowed: terms.negative };
      continue;
    }
    const maxTotal = computeAllowance(terms, command);
    if (count <= 0 || total <= maxTotal) {
      return { license, total, resetAt: findNextReset(terms, counter, at) };
    }
    const left = Math.max(0, maxTotal - before);
    if (refusal?.refused !== "enough") refusal = { refused: "enough", left };
    else refusal = { refused: "enough", left: Math.max(refusal.left, left) };
  }
  return refusal ?? { refused: "enough", left: 0 };
}
