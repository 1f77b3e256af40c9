import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import { requestNotFound } from "./open-requests.ts";

export interface CancelRequest {
  readonly type: "CancelRequest";
  /** The id of a request, or the nonce of an activation. */
  readonly request: string;
  readonly peer: string;
}

export interface CancelledRequest {
  readonly request: string;
}

/** Closes a request that the site no longer needs. Repeating the command changes nothing. */
export function decideCancelRequest(
  state: State,
  { request, peer }: CancelRequest,
  { at }: RuleContext,
): Result<Decision<CancelledRequest>, Fault> {
  const open = state.requests.get(request);
  const activation = state.activations.get(request);
  if (open === undefined && activation === undefined) {
    if (state.cancelledRequests.has(request)) return makeDecision([], { request });
    return err(requestNotFound(state, request));
  }
  const product = open?.product ?? null;
  const licenseKey = open?.licenseKey ?? activation?.licenseKey ?? null;
  const event = { type: "RequestCancelled", at, request, product, licenseKey, peer } as const;
  return makeDecision([event], { request });
}
