import type { Event } from "./event.ts";
import { ok, type Result } from "../result.ts";

/** The result of a command: the events to write, and the facts for its reply. */
export interface Decision<O> {
  readonly events: readonly Event[];
  readonly outcome: O;
  /**
   * Written before `events`, each on its own line, because a line is audited as a whole. If the
   * journal is cut after one of these lines, the line must be true without the rest.
   */
  readonly precedingEvents: readonly Event[];
}

export const makeDecision = <O>(
  events: readonly Event[],
  outcome: O,
  precedingEvents: readonly Event[] = [],
): Result<Decision<O>, never> => ok({ events, outcome, precedingEvents });
