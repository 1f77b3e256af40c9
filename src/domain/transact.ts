import { decide, type Command, type OutcomeOf } from "./decide.ts";
import { isNewGrant } from "./event-catalogue.ts";
import type { Event } from "./model/event.ts";
import { evolve } from "./evolve/evolve.ts";
import type { Fault } from "./model/fault.ts";
import { makeFeatureExpired } from "./features/features.ts";
import { assertGrantInvariants } from "./invariants.ts";
import { limits } from "./model/limits.ts";
import { err, ok, type Result } from "./result.ts";
import type { RuleContext } from "./model/rule-context.ts";
import { makeSlotExpired } from "./slots/slots.ts";
import type { State } from "./model/state.ts";
import type { Instant } from "./time.ts";

export interface TransactionResult<O> {
  /**
   * The events to journal, one array per line. The last line is the command's own and contains all
   * its events, so that a cut never leaves half a command. Before it come expiries of other users'
   * slots, and the preceding events of the decision.
   */
  readonly journalLines: readonly (readonly Event[])[];
  /** How many lines at the beginning are expiries of other users' slots. */
  readonly expiryLineCount: number;
  readonly outcome: O;
}

/** Refuses grants whose caller has added too much to the audit log. */
export interface GrantBudget {
  /** The refusal of a grant at this instant; null: it may be made. */
  readonly checkBudget: (at: Instant) => Fault | null;
}

/**
 * Decides, applies and checks a command. A refusal changes nothing; a broken invariant throws.
 * `budget` is checked before a grant, because a grant adds to the audit log; null: no limit.
 */
export function transact<C extends Command>(
  state: State,
  command: C,
  context: RuleContext,
  budget: GrantBudget | null = null,
): Result<TransactionResult<OutcomeOf<C>>, Fault> {
  const decision = decide(state, command, context);
  if (!decision.ok) return err(decision.fault);
  const { events, outcome, precedingEvents } = decision.value;
  if (events.length === 0) return ok({ journalLines: [], expiryLineCount: 0, outcome });
  const grantFault =
    budget !== null && events.some(isNewGrant) ? budget.checkBudget(context.at) : null;
  if (grantFault !== null) return err(grantFault);
  // At the timestamp of the events: when the clock is set back, nothing may expire by the old time.
  const at = events.at(-1)?.at ?? context.at;
  const expiries = hasEndedSlots(state, events, at) ? collectExpiryLines(state, events, at) : [];
  const journalLines =
    expiries.length === 0 && precedingEvents.length === 0
      ? [events]
      : [...expiries, ...precedingEvents.map((event) => [event]), events];
  for (const line of journalLines) {
    for (const event of line) {
      evolve(state, event);
      assertGrantInvariants(state, event);
    }
  }
  return ok({ journalLines, expiryLineCount: expiries.length, outcome });
}

/**
 * Pending expiries of the licenses that this command touches, except for slots the command handles
 * itself.
 */
function collectExpiryLines(state: State, events: readonly Event[], at: Instant): Event[][] {
  const licenseIds = new Set<number>();
  for (const event of events) if ("license" in event) licenseIds.add(event.license);
  const lines: Event[][] = [];
  const remainingLimit = (): number => limits.expiriesPerCommand - lines.length;
  const ownSlots = new Set(events.flatMap((event) => ("slot" in event ? [event.slot] : [])));
  for (const id of licenseIds) {
    const license = state.licenses.get(id);
    if (license === undefined) continue;
    for (const holder of license.pool.expiryIndex.ended(at, remainingLimit())) {
      if (!ownSlots.has(holder.slot)) lines.push([makeSlotExpired(id, holder)]);
    }
    for (const [code, { pool }] of license.features) {
      for (const holder of pool.expiryIndex.ended(at, remainingLimit())) {
        if (!ownSlots.has(holder.slot)) lines.push([makeFeatureExpired(id, code, holder)]);
      }
    }
  }
  return lines;
}

/** Whether a slot of a license that the events touch has ended. Most commands find none. */
function hasEndedSlots({ licenses }: State, events: readonly Event[], at: Instant): boolean {
  for (const event of events) {
    const license = "license" in event ? licenses.get(event.license) : undefined;
    if (license === undefined) continue;
    if (license.pool.expiryIndex.countEnded(at) > 0) return true;
    for (const { pool } of license.features.values()) {
      if (pool.expiryIndex.countEnded(at) > 0) return true;
    }
  }
  return false;
}
