import { DAY, HOUR } from "../../domain/time.ts";
import type { Condition } from "./condition.ts";

export interface ConditionChange {
  readonly event: "raised" | "cleared";
  readonly condition: Condition;
  readonly suppressed: number;
}

/** One that comes and goes is raised at most once in this time. */
const REPEAT_INTERVAL = HOUR;
/** Until then, the next event says how often it came and went. */
const FORGET_AFTER = DAY;

interface KnownCondition {
  /** As it was raised; null: it is not raised now. */
  raised: Condition | null;
  raisedAtMs: number;
  /** Present at the last update. */
  isPresent: boolean;
  suppressed: number;
}

/**
 * Finds out which conditions are new and which have ended. Texts may change while a condition
 * lasts, for example the days until an end; another severity is another condition.
 */
export class ConditionChanges {
  readonly #known = new Map<string, KnownCondition>();

  /** All conditions of now, at a time of a clock that is never set back. */
  update(conditions: readonly Condition[], nowMs: number): ConditionChange[] {
    const present = groupByKey(conditions);
    const cleared: ConditionChange[] = [];
    for (const [key, known] of this.#known) {
      if (present.has(key)) continue;
      known.isPresent = false;
      if (known.raised !== null) {
        cleared.push({ event: "cleared", condition: known.raised, suppressed: 0 });
        known.raised = null;
      }
      if (nowMs - known.raisedAtMs >= FORGET_AFTER) this.#known.delete(key);
    }
    const raised = [...present].flatMap(([key, condition]) => this.#raise(key, condition, nowMs));
    // First what ended: the same code may be raised again with another severity.
    return [...cleared, ...raised];
  }

  #raise(key: string, condition: Condition, nowMs: number): ConditionChange[] {
    const known = this.#known.get(key);
    if (known === undefined) {
      const entry = { raised: condition, raisedAtMs: nowMs, isPresent: true, suppressed: 0 };
      this.#known.set(key, entry);
      return [{ event: "raised", condition, suppressed: 0 }];
    }
    const isNew = !known.isPresent;
    known.isPresent = true;
    if (known.raised !== null) return [];
    if (nowMs - known.raisedAtMs < REPEAT_INTERVAL) {
      if (isNew) known.suppressed += 1;
      return [];
    }
    const { suppressed } = known;
    Object.assign(known, { raised: condition, raisedAtMs: nowMs, suppressed: 0 });
    return [{ event: "raised", condition, suppressed }];
  }
}

/** Several conditions can have the same code and subject: two licenses of a product. */
function groupByKey(conditions: readonly Condition[]): Map<string, Condition> {
  const byKey = new Map<string, Condition>();
  for (const condition of conditions) {
    const { code, severity, subject } = condition;
    let key = JSON.stringify([code, severity, subject]);
    for (let number = 2; byKey.has(key); number += 1)
      key = JSON.stringify([code, severity, subject, number]);
    byKey.set(key, condition);
  }
  return byKey;
}
