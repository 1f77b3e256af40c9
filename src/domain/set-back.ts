import type { ClockSetBack } from "./event.ts";
import type { Pool } from "./pool.ts";
import type { Counter, FeatureRegistration, Registration, State } from "./state.ts";
import { instant, type Instant } from "./time.ts";

/** Time went back: what was stored as later than `to` moves back by as much. */
export function setBack(state: State, { from, to }: ClockSetBack): void {
  const moved = <T extends Instant | null>(at: T): T =>
    (at !== null && at > to ? instant(at - (from - to)) : at) as T;
  state.mark = to;
  state.clockNonce = null;
  state.createdAt = moved(state.createdAt);
  for (const license of state.licenses.values()) {
    movePool(license.pool, moved, (held: Registration) => {
      held.borrowedUntil = moved(held.borrowedUntil);
    });
    moveCounter(license.counter, moved);
    license.movedAt = moved(license.movedAt);
    for (const feature of license.features.values()) {
      movePool(feature.pool, moved, () => {});
      moveCounter(feature.counter, moved);
    }
  }
  moveEach(state.requests, moved);
  moveEach(state.activations, moved);
  for (const [key, { at, outcome, ...one }] of state.remembered) {
    state.remembered.set(key, { ...one, at: moved(at), outcome: moveOutcome(outcome, moved) });
  }
}

type Move = <T extends Instant | null>(at: T) => T;

function moveCounter(counter: Counter, moved: Move): void {
  counter.resetAt = moved(counter.resetAt);
}

function movePool<T extends FeatureRegistration>(
  pool: Pool<T>,
  moved: Move,
  more: (held: T) => void,
): void {
  // In place: what else knows a registration knows it as this object.
  for (const held of pool.inOrder()) {
    pool.move(held, moved(held.end));
    held.registeredAt = moved(held.registeredAt);
    more(held);
  }
}

/** A borrow says when it ends, and its lease is signed from that; a count says nothing of time. */
function moveOutcome(outcome: unknown, moved: Move): unknown {
  if (typeof outcome !== "object" || outcome === null || !("borrowedUntil" in outcome)) {
    return outcome;
  }
  const kept = outcome as Pick<Registration, "registeredAt" | "end" | "borrowedUntil">;
  return {
    ...kept,
    registeredAt: moved(kept.registeredAt),
    end: moved(kept.end),
    borrowedUntil: moved(kept.borrowedUntil),
  };
}

function moveEach<T extends { readonly at: Instant }>(all: Map<string, T>, moved: Move): void {
  for (const [key, one] of all) all.set(key, { ...one, at: moved(one.at) });
}
