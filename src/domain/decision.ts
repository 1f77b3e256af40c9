import type { Event } from "./event.ts";
import { ok, type Result } from "./result.ts";

/** What a command leads to: the events to write, and the facts its reply is made of. */
export interface Decision<O> {
  readonly events: readonly Event[];
  readonly outcome: O;
}

export const decided = <O>(events: readonly Event[], outcome: O): Result<Decision<O>, never> =>
  ok({ events, outcome });
