import type { AnyFault, FaultCode } from "../../faults/fault-types.ts";
import type { Leadership } from "../../operations/pair/leadership.ts";
import { refuse } from "../faults.ts";
import { callerOf } from "./gate.ts";

/** Of the reply of a host on standby: where clients reach the host that leads. */
export const LEADER_HEADER = "berth-leader";

/** Refuses a request that only the leader of a pair answers, before it is handled. */
export function refuseOnStandby(leadership: Leadership, request: Request): void {
  if (leadership.mayAccept() || isAnsweredOnStandby(request)) return;
  refuse(toStandbyFault(leadership));
}

/**
 * Refuses the reply of a request that was handled, if the term of this host ended meanwhile: what
 * it says may not be true any more. Whether it changed anything is not known to its caller.
 */
export function refuseLateReply(leadership: Leadership, request: Request): void {
  if (leadership.mayAnswer() || isAnsweredOnStandby(request)) return;
  refuse({ code: "log_unavailable" });
}

/**
 * The fault that is answered instead of another one. A host that does not lead may not know a
 * credential, a product or a slot; what it refuses for the request itself stays.
 */
export function replaceLateFault(
  leadership: Leadership,
  request: Request,
  fault: AnyFault,
): AnyFault {
  const isOfRequest =
    KEPT_FAULTS.has(fault.code) || (fault.code === "forbidden" && fault.reason === "network");
  if (isOfRequest || leadership.mayAnswer() || isAnsweredOnStandby(request)) return fault;
  return toStandbyFault(leadership);
}

/** None of them depends on what only the leader knows. */
const KEPT_FAULTS: ReadonlySet<FaultCode> = new Set<FaultCode>([
  "standby",
  "log_unavailable",
  "not_found",
  "method_not_allowed",
  "wrong_host",
  "cross_site",
  "internal_error",
]);

/** Why this host of a pair does not answer; null: it leads. */
export const findStandbyFault = (leadership: Leadership): AnyFault | null =>
  leadership.mayAnswer() ? null : toStandbyFault(leadership);

const isAnsweredOnStandby = (request: Request): boolean =>
  callerOf(request)?.route?.answersOnStandby === true;

function toStandbyFault(leadership: Leadership): AnyFault {
  const { role, leader, leaderUrl: url, isLogAway } = leadership.status();
  // It is about to stop, and the next leader is not known yet.
  if (role === "leader") return { code: "standby" };
  if (leader === null && isLogAway) return { code: "log_unavailable" };
  return { code: "standby", ...(url !== null && { url }), ...(leader !== null && { leader }) };
}
