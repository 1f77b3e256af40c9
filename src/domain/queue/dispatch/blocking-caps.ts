import type { RuleContext } from "../../model/rule-context.ts";
import { checkSlotCaps } from "../../slots/slot-caps.ts";
import { findHeldSlot } from "../../model/slots/pool.ts";
import type { State } from "../../model/state.ts";
import { earliest, type Instant } from "../../time.ts";
import type { QueuedPlace } from "../../model/queue/place.ts";
import { peerCapKey, userCapKey } from "../../model/queue/queue.ts";
import type { BlockingLimit } from "../../model/queue/waiting-lists.ts";

/** The cap of the settings that allows this user no slot now; null: none. */
export function findBlockingCap(
  state: State,
  { user, peer }: Pick<QueuedPlace, "user" | "peer">,
  context: RuleContext,
): BlockingLimit | null {
  const fault = checkSlotCaps(state, user, peer, context);
  if (fault === null) return null;
  const { at } = context;
  if ("scope" in fault && fault.scope === "peer") {
    const wakeAt = state.registrationsByPeer.findEarliestEnd(peer, at);
    return { key: peerCapKey(peer), isRule: false, fault, wakeAt };
  }
  const wakeAt = findEarliestEndOf(state, user, at);
  return { key: userCapKey(user), isRule: false, fault, wakeAt };
}

function findEarliestEndOf(state: State, user: string, at: Instant): Instant | null {
  let first: Instant | null = null;
  for (const { pool } of state.licenses.values()) {
    const end = findHeldSlot(pool, user, at)?.end;
    if (end !== undefined) first = first === null ? end : earliest(first, end);
  }
  return first;
}
