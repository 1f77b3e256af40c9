import type { Event } from "./event.ts";
import { ok, type Result } from "./result.ts";

/** What a command leads to: the events to write, and the facts its reply is made of. */
export interface Decision<O> {
  readonly events: readonly Event[];
  readonly outcome: O;
  /**
   * Written before the events, each on a line of its own: a line is audited as a whole. If the
   * journal is cut behind one of these, it must be true without the rest.
   */
  readonly precedingEvents: readonly Event[];
}

export const makeDecision = <O>(
  events: readonly Event[],
  outcome: O,
  precedingEvents: readonly Event[] = [],
): Result<Decision<O>, never> => ok({ events, outcome, precedingEvents });
