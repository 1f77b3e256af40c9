import type { Fault } from "../fault.ts";
import type { RuleContext } from "../rule-context.ts";
import { findHeldSlot } from "./slots.ts";
import type { State } from "../state.ts";
import type { Instant } from "../time.ts";

/** Checks the operator's caps for one more slot. A slot already held is never affected. */
export function checkSlotCaps(
  state: State,
  user: string,
  peer: string,
  { at, slotCaps }: RuleContext,
): Fault | null {
  const { perUser, perPeer } = slotCaps;
  if (perUser !== null && countSlotsHeldBy(state, user, at) >= perUser) {
    return { code: "slots_capped", scope: "user", slots: perUser };
  }
  if (perPeer !== null && state.registrationsByPeer.hasAtLeast(peer, perPeer, at)) {
    return { code: "slots_capped", scope: "peer", slots: perPeer };
  }
  return null;
}

function countSlotsHeldBy(state: State, user: string, at: Instant): number {
  let count = 0;
  for (const { pool } of state.licenses.values())
    if (findHeldSlot(pool, user, at) !== null) count += 1;
  return count;
}
