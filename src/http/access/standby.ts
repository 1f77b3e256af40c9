import type { Leadership } from "../../operations/pair/leadership.ts";
import { refuse } from "../faults.ts";
import { callerOf } from "./gate.ts";

/**
 * Refuses a request that only the leader of a pair answers. Checked before the request is handled
 * and again before its reply is sent: the term of this host may have ended meanwhile.
 */
export function refuseOnStandby(leadership: Leadership, request: Request): void {
  if (leadership.mayAnswer() || callerOf(request)?.route?.answersOnStandby === true) return;
  const { role } = leadership;
  const { url = null, leader = null } = role.role === "standby" ? role : {};
  refuse({
    code: "standby",
    ...(url !== null && { url }),
    ...(leader !== null && { leader }),
  });
}
