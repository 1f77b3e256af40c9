import type { BaseEvent } from "../event-base.ts";
import type { Instant } from "../../time.ts";
import type { RuleSet } from "./rule-set.ts";

/**
 * The rules were replaced as a whole; with an empty text, there are none from here on. It contains
 * the parsed rules, so that a replay does not depend on the parser of a later version.
 */
export interface RulesApplied extends BaseEvent<"RulesApplied"> {
  /** The file as it was applied. */
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly digest: string;
  readonly rules: RuleSet;
  readonly peer: string;
}

/**
 * A member of a group was refused while others used the group's lent slots. Until then the
 * reservation acts as `keep`, or until a member gets a slot.
 */
export interface ReservationRecalled extends BaseEvent<"ReservationRecalled"> {
  readonly product: string;
  readonly feature: string | null;
  readonly group: string;
  readonly until: Instant;
}
