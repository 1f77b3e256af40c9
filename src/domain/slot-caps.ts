import type { Fault } from "./fault.ts";
import { findHeldSlot } from "./slots.ts";
import type { State } from "./state.ts";
import type { Instant } from "./time.ts";

/** What the operator's caps say to one more slot. Who holds one keeps it, whatever they say. */
export function checkSlotCaps(state: State, user: string, peer: string, at: Instant): Fault | null {
  const { perUser, perPeer } = state.slotCaps;
  if (perUser !== null && countSlotsHeldBy(state, user, at) >= perUser) {
    return { code: "slots_capped", scope: "user", slots: perUser };
  }
  if (perPeer !== null && state.registrationsByPeer.hasAtLeast(peer, perPeer, at)) {
    return { code: "slots_capped", scope: "peer", slots: perPeer };
  }
  return null;
}

function countSlotsHeldBy(state: State, user: string, at: Instant): number {
  let held = 0;
  for (const { pool } of state.licenses.values())
    if (findHeldSlot(pool, user, at) !== null) held += 1;
  return held;
}
