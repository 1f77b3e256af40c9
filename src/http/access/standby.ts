import type { AnyFault } from "../../faults/fault-types.ts";
import type { Leadership } from "../../operations/pair/leadership.ts";
import { refuse } from "../faults.ts";
import { callerOf } from "./gate.ts";

/**
 * Refuses a request that only the leader of a pair answers. Checked before the request is handled
 * and again before its reply is sent: the term of this host may have ended meanwhile.
 */
export function refuseOnStandby(leadership: Leadership, request: Request): void {
  if (callerOf(request)?.route?.answersOnStandby === true) return;
  const fault = findStandbyFault(leadership);
  if (fault !== null) refuse(fault);
}

/** Why this host of a pair does not answer; null: it leads. */
export function findStandbyFault(leadership: Leadership): AnyFault | null {
  if (leadership.mayAnswer()) return null;
  const { leader, leaderUrl: url, isLogAway } = leadership.status();
  if (leader === null && isLogAway) return { code: "log_unavailable" };
  return { code: "standby", ...(url !== null && { url }), ...(leader !== null && { leader }) };
}
