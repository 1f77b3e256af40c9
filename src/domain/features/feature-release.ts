import { makeDecision, type Decision } from "../model/decision.ts";
import type { Event } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { findHeldSlot } from "../model/slots/pool.ts";
import type { State } from "../model/state.ts";
import { resolveFeatureTarget, type FeatureOutcome } from "./features.ts";
import type { LicenseSelector } from "../licenses/licenses.ts";

export interface FeatureRelease extends LicenseSelector {
  readonly type: "FeatureRelease";
  readonly user: string | null;
  readonly feature: string | null;
  readonly peer: string;
}

export function decideFeatureRelease(
  state: State,
  command: FeatureRelease,
  { at }: RuleContext,
): Result<Decision<FeatureOutcome>, Fault> {
  const target = resolveFeatureTarget(state, command);
  if (!target.ok) return target;
  const { user, feature: code, licenses } = target.value;
  if (!licenses.some(({ features }) => features.has(code))) {
    return err({ code: "invalid_license_feature_code" });
  }
  for (const license of licenses) {
    const feature = license.features.get(code);
    const featureSlot = feature === undefined ? null : findHeldSlot(feature.pool, user, at);
    if (featureSlot === null) continue;
    const { slot } = featureSlot;
    const event: Event = {
      type: "FeatureReleased",
      at,
      license: license.id,
      feature: code,
      user,
      slot,
      by: "user",
      peer: command.peer,
    };
    return makeDecision([event], { license: license.id, feature: code });
  }
  return err({ code: "user_not_registered", slot: "feature" });
}

export interface FeatureReleaseAll {
  readonly type: "FeatureReleaseAll";
  readonly peer: string;
}

export function decideFeatureReleaseAll(
  state: State,
  { peer }: FeatureReleaseAll,
  { at }: RuleContext,
): Result<Decision<{ readonly released: number }>, Fault> {
  const events: Event[] = [];
  for (const { id, features } of state.licenses.values()) {
    for (const [feature, { pool }] of features) {
      for (const { user, slot, end } of pool.inSlotOrder()) {
        if (end <= at) continue;
        const slotFields = { license: id, feature, user, slot };
        events.push({ type: "FeatureReleased", at, ...slotFields, by: "admin", peer });
      }
    }
  }
  return makeDecision(events, { released: events.length });
}
