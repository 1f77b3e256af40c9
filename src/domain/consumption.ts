import type { AddConsumption, ConsumptionRequest } from "./command.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { ConsumptionAdded } from "./event.ts";
import type { Fault } from "./fault.ts";
import { findRecordedOutcome, recordOutcome } from "./idempotency.ts";
import { findLicenses, findMissingFields, filterValidLicenses } from "./licenses.ts";
import { limits } from "./limits.ts";
import { err, type Result } from "./result.ts";
import { findHeldSlot } from "./slots.ts";
import type { Counter, License, State } from "./state.ts";
import type { ConsumptionTerms } from "./terms.ts";
import { findNextPeriodStart, type Instant } from "./time.ts";

export interface ConsumptionOutcome {
  readonly license: number;
  readonly total: number;
}

export function decideAddConsumption(
  state: State,
  command: AddConsumption,
  at: Instant,
): Result<Decision<ConsumptionOutcome>, Fault> {
  const missing = findMissingFields(state, command, {});
  if (missing.length > 0) return err({ code: "missing_parameters", fields: missing });
  const earlier = findRecordedOutcome<ConsumptionOutcome>(
    state,
    "add_consumption",
    command,
    command.user,
    at,
  );
  if (earlier !== null) return earlier;

  const licenses = findLicenses(state, command);
  if (!licenses.ok) return licenses;
  const valid = filterValidLicenses(state, licenses.value, at);
  if (!valid.ok) return valid;
  const counting = valid.value.filter(({ terms }) => terms.consumption !== null);
  if (counting.length === 0) return err({ code: "license_not_consumption" });

  const chosen = chooseCounter(preferLicenseHeldBy(counting, command.user, at), command, at);
  if ("refused" in chosen) {
    return err(
      chosen.refused === "negative"
        ? { code: "negative_not_allowed", total: chosen.total, allowed: chosen.allowed }
        : { code: "license_not_enough_consumptions", left: chosen.left },
    );
  }
  const { license, ...counted } = chosen;
  const { user, peer, count } = command;
  const outcome = { license: license.id, total: counted.total };
  // Zero counts nothing, so there is nothing to write and nothing a repeat could count twice.
  if (count === 0) return makeDecision([], outcome);
  const event: ConsumptionAdded = {
    type: "ConsumptionAdded",
    at,
    license: license.id,
    user,
    peer,
    count,
    ...counted,
  };
  const kept = recordOutcome(state, "add_consumption", command, command, outcome, at);
  return makeDecision([event, ...kept], outcome);
}

/** The total as it counts now: zero from the instant its period ended, event or not. */
export const totalAt = ({ total, resetAt }: Omit<Counter, "counted">, at: Instant): number =>
  resetAt !== null && at >= resetAt ? 0 : total;

/** The end of the period that `at` lies in. */
export function findNextReset(
  terms: ConsumptionTerms | null,
  counter: Pick<Counter, "resetAt">,
  at: Instant,
): Instant | null {
  if (terms?.period == null) return null;
  // Within one period the boundary is known; the calendar is asked once a period, not once a call.
  if (counter.resetAt !== null && at < counter.resetAt) return counter.resetAt;
  return findNextPeriodStart(terms.period, at);
}

/** What may still be counted, with overage as far as license and caller allow it. */
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
 * A license the user sits on is the one that counts for them; without, any that can take it all.
 */
export function preferLicenseHeldBy(
  licenses: readonly License[],
  user: string | null,
  at: Instant,
): readonly License[] {
  if (user === null) return licenses;
  const held = licenses.filter(({ pool }) => findHeldSlot(pool, user, at) !== null);
  return held.length === 0 ? licenses : held.slice(0, 1);
}

interface CounterChoice {
  readonly license: License;
  readonly total: number;
  readonly resetAt: Instant | null;
}

type CountRefusal =
  | { readonly refused: "enough"; readonly left: number }
  | { readonly refused: "negative"; readonly total: number; readonly allowed: boolean };

/** What a license counts by: its own terms and counter, or those of one of its features. */
type CounterSelector = (
  license: License,
) => { terms: ConsumptionTerms | null; counter: Counter } | null;

const selectLicenseCounter: CounterSelector = ({ terms, counter }) => ({
  terms: terms.consumption,
  counter,
});

/**
 * The first license that can take all of the count (it is never split), or what would have fitted.
 */
export function chooseCounter(
  licenses: readonly License[],
  command: OverageLimits & Pick<ConsumptionRequest, "count">,
  at: Instant,
  counterOf: CounterSelector = selectLicenseCounter,
): CounterChoice | CountRefusal {
  const { count } = command;
  let refusal: CountRefusal | null = null;
  for (const license of licenses) {
    const { terms, counter } = counterOf(license) ?? {};
    if (terms == null || counter === undefined) continue;
    const before = totalAt(counter, at);
    const total = before + count;
    if (count < 0 && (!terms.negative || total < 0)) {
      refusal ??= { refused: "negative", total: before, allowed: terms.negative };
      continue;
    }
    const most = computeAllowance(terms, command);
    if (count <= 0 || total <= most) {
      return { license, total, resetAt: findNextReset(terms, counter, at) };
    }
    const left = Math.max(0, most - before);
    if (refusal?.refused !== "enough") refusal = { refused: "enough", left };
    else refusal = { refused: "enough", left: Math.max(refusal.left, left) };
  }
  return refusal ?? { refused: "enough", left: 0 };
}
