import { makeDecision, type Decision } from "../decision.ts";
import type { Fault } from "../fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { OpenRequest, State } from "../state.ts";

export interface LicenseGenerate {
  readonly type: "LicenseGenerate";
  readonly request: Omit<OpenRequest, "at">;
  readonly head: { readonly auditSeq: number; readonly auditSum: string };
  readonly peer: string;
}

/** Creates a request for the vendor. It stays open until it is answered, dropped or too old. */
export function decideLicenseGenerate(
  _state: State,
  { request, head, peer }: LicenseGenerate,
  { at }: RuleContext,
): Result<Decision<OpenRequest>, Fault> {
  const openRequest = { ...request, at };
  return makeDecision([{ type: "RequestMade", at, request: openRequest, head, peer }], openRequest);
}
