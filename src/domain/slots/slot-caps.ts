import type { CappedFault } from "../model/fault.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { QueuedPlace } from "../model/queue/place.ts";
import { findHeldSlot } from "../model/slots/pool.ts";
import type { State } from "../model/state.ts";
import type { Instant } from "../time.ts";

/**
 * Checks the operator's caps for one more slot. A slot already held is never affected. `ownHold` is
 * the place whose held slot the user is about to get: it does not count twice; null: none.
 */
export function checkSlotCaps(
  state: State,
  user: string,
  peer: string,
  { at, slotCaps }: RuleContext,
  ownHold: QueuedPlace | null = null,
): CappedFault | null {
  const { perUser, perPeer } = slotCaps;
  if (perUser !== null) {
    const slots = countSlotsHeldBy(state, user, at) + countOtherHoldsOfUser(state, user, ownHold);
    if (slots >= perUser) return { code: "slots_capped", scope: "user", slots: perUser };
  }
  if (perPeer !== null) {
    const free = perPeer - countOtherHoldsOfPeer(state, peer, ownHold);
    if (state.registrationsByPeer.hasAtLeast(peer, free, at))
      return { code: "slots_capped", scope: "peer", slots: perPeer };
  }
  return null;
}

const countOtherHoldsOfUser = (
  { queues }: State,
  user: string,
  ownHold: QueuedPlace | null,
): number => (queues.size === 0 ? 0 : queues.countHoldsOfUser(user) - (ownHold === null ? 0 : 1));

const countOtherHoldsOfPeer = (
  { queues }: State,
  peer: string,
  ownHold: QueuedPlace | null,
): number =>
  queues.size === 0 ? 0 : queues.countHoldsOfPeer(peer) - (ownHold?.peer === peer ? 1 : 0);

function countSlotsHeldBy(state: State, user: string, at: Instant): number {
  let count = 0;
  for (const { pool } of state.licenses.values())
    if (findHeldSlot(pool, user, at) !== null) count += 1;
  return count;
}
