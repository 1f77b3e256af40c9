import type { RuleContext } from "../rule-context.ts";
import { countFreeSlots } from "../slots/free-slots.ts";
import type { License, State } from "../state.ts";
import { findPlace } from "./holds.ts";

/**
 * The license whose held slot the user may collect; null: none. Holds beyond the slots of a license
 * cannot be collected: the next dispatch withdraws the newest of them.
 */
export function findCollectable(
  state: State,
  licenses: readonly License[],
  user: string,
  context: RuleContext,
): License | null {
  const product = licenses[0]?.terms.product;
  const hold = product === undefined ? null : findPlace(state, product, user)?.hold;
  if (hold == null) return null;
  const license = licenses.find(({ id }) => id === hold.license);
  return license !== undefined && countFreeSlots(state, license, user, context) >= 0
    ? license
    : null;
}
