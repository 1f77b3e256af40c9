import { makeDecision, type Decision } from "../decision.ts";
import type { Fault } from "../fault.ts";
import { filterValidLicenses, type LicenseSelector } from "../licenses/licenses.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import { countSlotsInUse } from "../slots/pool.ts";
import { findHeldSlot, findNextFreeAt } from "../slots/slots.ts";
import type { License, State } from "../state.ts";
import type { FeatureTerms } from "../licenses/terms.ts";
import { earliest, later, MINUTE, type Instant } from "../time.ts";
import {
  findUsableFeatures,
  makeFeatureExpired,
  resolveFeatureTarget,
  type FeatureOutcome,
} from "./features.ts";

export interface FeatureRegister extends LicenseSelector {
  readonly type: "FeatureRegister";
  readonly user: string | null;
  readonly feature: string | null;
  readonly peer: string;
}

/** Takes or renews a slot of a floating feature: the feature's own heartbeat. */
export function decideFeatureRegister(
  state: State,
  command: FeatureRegister,
  context: RuleContext,
): Result<Decision<FeatureOutcome>, Fault> {
  const { at } = context;
  const target = resolveFeatureTarget(state, command);
  if (!target.ok) return target;
  const { user, feature: code, licenses } = target.value;
  const valid = filterValidLicenses(state, licenses, context);
  if (!valid.ok) return valid;
  const heldLicenses = valid.value.filter(({ pool }) => findHeldSlot(pool, user, at) !== null);
  if (heldLicenses.length === 0) return err({ code: "user_not_registered", slot: "license" });
  const usable = findUsableFeatures(heldLicenses, code, at);
  if (!usable.ok) return usable;
  const floating = usable.value.flatMap(({ license, feature }) => {
    const terms = feature.terms.floating;
    return terms === null ? [] : [{ license, feature, terms }];
  });
  const [first] = floating;
  if (first === undefined) return err({ code: "feature_not_floating" });

  const current = floating.find(({ feature }) => findHeldSlot(feature.pool, user, at) !== null);
  if (current !== undefined) {
    const renewalFields = makeFeatureSlotFields(current, code, user, at);
    return makeDecision(
      [{ type: "FeatureRenewed", ...renewalFields }],
      makeFeatureOutcome(current, code),
    );
  }
  const available = floating.find(
    ({ feature, terms }) => countSlotsInUse(feature.pool, at) < terms.slots,
  );
  if (available === undefined) {
    const { slots } = first.terms;
    const nextFree = findNextFreeAt(first.feature.pool, slots, at);
    return err({ code: "floating_not_available", slots, nextFree });
  }
  const endedSlot = available.feature.pool.get(user);
  const expiries =
    endedSlot === undefined ? [] : [makeFeatureExpired(available.license.id, code, endedSlot)];
  const slot = state.nextSlot;
  const grantFields = {
    ...makeFeatureSlotFields(available, code, user, at),
    slot,
    peer: command.peer,
  };
  return makeDecision(
    [...expiries, { type: "FeatureTaken", ...grantFields }],
    makeFeatureOutcome(available, code),
  );
}

interface FloatingFeature {
  readonly license: License;
  readonly terms: NonNullable<FeatureTerms["floating"]>;
}

const makeFeatureOutcome = ({ license }: FloatingFeature, feature: string): FeatureOutcome => ({
  license: license.id,
  feature,
});

/** The fields that taking and renewing a feature slot have in common. */
function makeFeatureSlotFields(
  { license, terms }: FloatingFeature,
  feature: string,
  user: string,
  at: Instant,
) {
  const timeoutAt = later(at, terms.timeoutMinutes * MINUTE);
  const end = earliest(timeoutAt, license.pool.get(user)?.end ?? timeoutAt);
  return { at, license: license.id, feature, user, end, timeoutAt };
}
