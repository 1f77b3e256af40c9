import { isClockSuspect } from "../clock/timekeeper.ts";
import { checkLicenseValid } from "../licenses/licenses.ts";
import { getLicenseEnd } from "../model/licenses/terms.ts";
import { countHolds } from "../queue/holds.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { License, State } from "../model/state.ts";
import { countKeptForOwners } from "./ended-borrows.ts";
import { countSlotsInUse } from "../model/slots/pool.ts";

/** The licenses of a product that may grant slots now, in the order in which claims try them. */
export const listGrantingLicenses = (
  state: State,
  product: string,
  context: RuleContext,
): readonly License[] =>
  filterLendable(
    (state.products.get(product) ?? []).filter(
      (license) => checkLicenseValid(state, license, context) === null,
    ),
    context.clockBehind,
  );

/**
 * The slots of a license that are neither used nor held. Less than 0: it has fewer slots than
 * before. `user` is the user whose own lapsed borrow does not count; null: all count.
 */
export const countFreeSlots = (
  state: State,
  license: License,
  user: string | null,
  context: RuleContext,
): number =>
  license.terms.slots -
  countSlotsInUse(license.pool, context.at) -
  countHolds(state, license) -
  countKeptForOwners(state, license, user, context);

/** The same over all licenses of a product that may grant slots now. */
export function countFreeOfProduct(
  state: State,
  product: string,
  user: string | null,
  context: RuleContext,
): number {
  let free = 0;
  for (const license of listGrantingLicenses(state, product, context))
    free += Math.max(0, countFreeSlots(state, license, user, context));
  return free;
}

/** With a clock that is far behind, only licenses without an end are granted anew. */
export const filterLendable = (
  licenses: readonly License[],
  clockBehind: number,
): readonly License[] =>
  isClockSuspect(clockBehind)
    ? licenses.filter(({ terms }) => getLicenseEnd(terms) === null)
    : licenses;
