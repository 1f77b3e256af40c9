import type { Fault } from "./fault.ts";
import { holding } from "./slots.ts";
import type { State } from "./state.ts";
import type { Instant } from "./time.ts";

/** What the operator's caps say to one more slot. Who holds one keeps it, whatever they say. */
export function capOn(state: State, user: string, peer: string, at: Instant): Fault | null {
  const { perUser, perPeer } = state.caps;
  if (perUser !== null && heldBy(state, user, at) >= perUser) {
    return { code: "slots_capped", who: "user", slots: perUser };
  }
  if (perPeer !== null && state.byPeer.atLeast(peer, perPeer, at)) {
    return { code: "slots_capped", who: "peer", slots: perPeer };
  }
  return null;
}

function heldBy(state: State, user: string, at: Instant): number {
  let held = 0;
  for (const { pool } of state.licenses.values()) if (holding(pool, user, at) !== null) held += 1;
  return held;
}
