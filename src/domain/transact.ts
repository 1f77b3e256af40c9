import type { Command } from "./command.ts";
import { decide, type OutcomeOf } from "./decide.ts";
import { isGrantEvent } from "./audited-events.ts";
import type { Event } from "./event.ts";
import { evolve } from "./evolve.ts";
import type { Fault } from "./fault.ts";
import { makeFeatureExpired } from "./features.ts";
import { assertGrantInvariants } from "./invariants.ts";
import { limits } from "./limits.ts";
import { err, ok, type Result } from "./result.ts";
import { makeSlotExpired } from "./slots.ts";
import type { State } from "./state.ts";
import type { Instant } from "./time.ts";

export interface TransactionResult<O> {
  /**
   * What to journal, a line each. The last one is the command's own and holds all its events, so
   * that a cut never leaves half a command; before it, slots of others that ran out meanwhile, and
   * what the command's decision puts ahead.
   */
  readonly journalLines: readonly (readonly Event[])[];
  /** How many of them, the first ones, are about slots of others. */
  readonly expiryLineCount: number;
  readonly outcome: O;
}

/**
 * Decide, apply, check. A refusal changes nothing; a broken invariant throws. `refuseGrant` is asked
 * before anything is given out, with what that adds to the audit log.
 */
export function transact<C extends Command>(
  state: State,
  command: C,
  at: Instant,
  refuseGrant: () => Fault | null = () => null,
): Result<TransactionResult<OutcomeOf<C>>, Fault> {
  const decided = decide(state, command, at);
  if (!decided.ok) return err(decided.fault);
  const { events, outcome, precedingEvents } = decided.value;
  if (events.length === 0) return ok({ journalLines: [], expiryLineCount: 0, outcome });
  const refused = events.some(isGrantEvent) ? refuseGrant() : null;
  if (refused !== null) return err(refused);
  // By the instant the events are stamped with: a clock that is set back must not end anything
  // by the time it leaves.
  const expiries = collectExpiryLines(state, events, events.at(-1)?.at ?? at);
  const journalLines = [...expiries, ...precedingEvents.map((event) => [event]), events];
  for (const line of journalLines) {
    for (const event of line) {
      evolve(state, event);
      assertGrantInvariants(state, event);
    }
  }
  return ok({ journalLines, expiryLineCount: expiries.length, outcome });
}

/**
 * Expiries waiting on the licenses this command touches, but for those it writes or undoes itself.
 */
function collectExpiryLines(state: State, events: readonly Event[], at: Instant): Event[][] {
  const touched = new Set<number>();
  for (const event of events) if ("license" in event) touched.add(event.license);
  const lines: Event[][] = [];
  const room = (): number => limits.expiriesPerCommand - lines.length;
  // Most of the time nothing has ended, and nobody asks.
  let own: Set<number> | null = null;
  const isOwn = (slot: number): boolean => (own ??= collectSlots(events)).has(slot);
  for (const id of touched) {
    const license = state.licenses.get(id);
    if (license === undefined) continue;
    for (const ended of license.pool.expiryIndex.ended(at, room())) {
      if (!isOwn(ended.slot)) lines.push([makeSlotExpired(id, ended)]);
    }
    for (const [code, { pool }] of license.features) {
      for (const ended of pool.expiryIndex.ended(at, room())) {
        if (!isOwn(ended.slot)) lines.push([makeFeatureExpired(id, code, ended)]);
      }
    }
  }
  return lines;
}

const collectSlots = (events: readonly Event[]): Set<number> =>
  new Set(events.flatMap((event) => ("slot" in event ? [event.slot] : [])));
