import type { RuleContext } from "../model/rule-context.ts";
import { countFreeSlots } from "./free-slots.ts";
import type { License, State } from "../model/state.ts";
import { findPlace } from "../queue/holds.ts";

/**
 * The license whose held slot the user may collect; null: none. Holds beyond the slots of a license
 * cannot be collected: the next dispatch withdraws the newest of them. Nor can a hold of a member
 * of a reserved group, if the user calls from elsewhere and is no member there.
 */
export function findCollectable(
  state: State,
  licenses: readonly License[],
  user: string,
  home: string | null,
  context: RuleContext,
): License | null {
  const product = licenses[0]?.terms.product;
  const place = product === undefined ? null : findPlace(state, product, user);
  if (place?.hold == null || place.home !== home) return null;
  const { hold } = place;
  const license = licenses.find(({ id }) => id === hold.license);
  return license !== undefined && countFreeSlots(state, license, user, context) >= 0
    ? license
    : null;
}
