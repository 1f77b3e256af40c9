import { makeClockSkewAt } from "../clock/clock-jumps.ts";
import type { ClockSetBack } from "../model/event.ts";
import { recallKey } from "../model/rules/recall.ts";
import type { ReservationRecalled, RulesApplied } from "../model/rules/rules-event-types.ts";
import type { HolderPool } from "../model/rules/indexed-rules.ts";
import { later, type Instant } from "../time.ts";
import type { MutableSlotPool } from "./mutable-slot-pool.ts";
import type {
  MutableFeatureRegistration,
  MutableLicense,
  MutableRegistration,
  MutableState,
} from "./mutable-state.ts";

export function applyRules(state: MutableState, event: RulesApplied): void {
  const { text, digest, rules, at } = event;
  state.rules = text === "" ? null : { text, digest, rules, at };
  state.recalls.clear();
  state.rulesIndex.replaceRules(state);
}

export function recallReservation({ recalls }: MutableState, event: ReservationRecalled): void {
  const { product, feature, group, at, until } = event;
  for (const [key, recall] of recalls) if (recall.until <= at) recalls.delete(key);
  recalls.set(recallKey(event), { product, feature, group, at, until });
}

/** A member got a slot, or one is held for a member: the reservation lends again. */
export function endRecall(
  { recalls }: MutableState,
  product: string,
  feature: string | null,
  group: string,
): void {
  if (recalls.size > 0) recalls.delete(recallKey({ product, feature, group }));
}

/** Before the jumps are dropped that the clock skew is computed from. */
export function moveRecalls({ recalls, clockJumps }: MutableState, event: ClockSetBack): void {
  const skew = makeClockSkewAt(clockJumps, event.from, event.to);
  for (const [key, recall] of recalls) {
    const moved = -skew(recall.at);
    const at = later(recall.at, moved);
    recalls.set(key, { ...recall, at, until: later(recall.until, moved) });
  }
}

export const holderPoolOf = (
  { id, terms }: MutableLicense,
  feature: string | null = null,
): HolderPool => ({ product: terms.product, license: id, feature });

/**
 * Gives a holder another end. The counters of the rules count it while its end is not reached. A
 * heartbeat does not change that, and so does not touch them.
 */
export function changeHolderEnd<T extends MutableRegistration | MutableFeatureRegistration>(
  { rulesIndex }: MutableState,
  holderPool: () => HolderPool,
  pool: MutableSlotPool<T>,
  holder: T,
  end: Instant,
): void {
  const isCountChanged = rulesIndex.mayHaveEnded(end) || rulesIndex.mayHaveEnded(holder.end);
  if (!isCountChanged) return pool.changeEnd(holder, end);
  const counted = holderPool();
  rulesIndex.removeHolder(counted, holder);
  pool.changeEnd(holder, end);
  rulesIndex.addHolder(counted, holder);
}
