import { findQueueRules } from "../../domain/queue/queue-rules.ts";
import type { State } from "../../domain/model/state.ts";
import { SECOND } from "../../domain/time.ts";

/** How long a place lasts without contact, and a slot is held for it. */
export const holdMsOf = (state: State, product: string): number =>
  findQueueRules(state, product).holdSeconds * SECOND;
