import type { Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { OpenActivation, State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import {
  checkHardwareId,
  decideInstallLicense,
  type CheckedLicense,
  type InstalledLicense,
} from "./install-license.ts";
import { isActivationOpen } from "./open-requests.ts";

/** Installs a license that came as a policy and a confirmation code. */
export interface AirgapLicense extends CheckedLicense {
  readonly type: "AirgapLicense";
  /** The nonce of the activation that the code confirms. */
  readonly activation: string;
}

/**
 * A refusal does not say that the license was returned: its next step is another activation code,
 * not a new request.
 */
export function decideAirgapLicense(
  state: State,
  command: AirgapLicense,
  { at }: RuleContext,
): Result<Decision<InstalledLicense>, Fault> {
  if (state.pair !== null) return err({ code: "codes_not_for_pairs" });
  const open = state.activations.get(command.activation);
  const hardware =
    open === undefined
      ? err({ code: "request_used" } as const)
      : checkHardwareId(open, command.grant);
  const answered = { request: null, activation: command.activation, hardware };
  return decideInstallLicense(state, command, answered, at);
}

/** The activations that a confirmation code may still confirm. */
export const findOpenActivations = (
  state: State,
  licenseKey: string,
  at: Instant,
): OpenActivation[] =>
  [...state.activations.values()].filter(
    (activation) => activation.licenseKey === licenseKey && isActivationOpen(activation, at),
  );
