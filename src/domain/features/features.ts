import type {
  AddFeatureConsumption,
  LicenseSelector,
  RegisterFeature,
  ReleaseAllFeatures,
  ReleaseFeature,
} from "../command.ts";
import { chooseCounter, preferLicenseHeldBy } from "../consumption/consumption.ts";
import { makeDecision, type Decision } from "../decision.ts";
import type { Event, FeatureConsumptionAdded, FeatureExpired, FeatureRenewed } from "../event.ts";
import type { Fault } from "../fault.ts";
import { findRecordedOutcome, recordOutcome } from "../idempotency/idempotency.ts";
import { findLicenses, findMissingFields, filterValidLicenses } from "../licenses/licenses.ts";
import { err, ok, type Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import { findHeldSlot, findNextFreeAt, countSlotsInUse } from "../slots/slots.ts";
import type { BaseRegistration } from "../slots/registration.ts";
import type { Feature, License, State } from "../state.ts";
import type { FeatureTerms } from "../licenses/terms.ts";
import { earliest, later, MINUTE, type Instant } from "../time.ts";

export interface FeatureOutcome {
  readonly license: number;
  readonly feature: string;
}

/** Takes or renews a slot of a floating feature: the feature's own heartbeat. */
export function decideRegisterFeature(
  state: State,
  command: RegisterFeature,
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

/**
 * The renewals of the feature slots that depend on a license's slot, when that slot gets a new end.
 */
export function renewHeldFeatures(
  { id: license, features }: License,
  user: string,
  licenseEnd: Instant,
  at: Instant,
): FeatureRenewed[] {
  const renewals: FeatureRenewed[] = [];
  for (const [feature, { pool }] of features) {
    const featureSlot = pool.size === 0 ? null : findHeldSlot(pool, user, at);
    if (featureSlot === null) continue;
    const { timeoutAt } = featureSlot;
    const end = earliest(timeoutAt, licenseEnd);
    if (end === featureSlot.end) continue;
    renewals.push({ type: "FeatureRenewed", at, license, feature, user, end, timeoutAt });
  }
  return renewals;
}

export function decideReleaseFeature(
  state: State,
  command: ReleaseFeature,
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

export function decideReleaseAllFeatures(
  state: State,
  { peer }: ReleaseAllFeatures,
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

export interface FeatureConsumptionOutcome extends FeatureOutcome {
  readonly total: number;
}

export function decideAddFeatureConsumption(
  state: State,
  command: AddFeatureConsumption,
  context: RuleContext,
): Result<Decision<FeatureConsumptionOutcome>, Fault> {
  const { at } = context;
  const { feature: code, user, peer, count } = command;
  const missing = findMissingFields(state, command, { feature: code });
  if (code === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const keyedCommand = { product: command.product, once: command.once };
  const route = "add_feature_consumption";
  const recordedDecision = findRecordedOutcome<FeatureConsumptionOutcome>(
    state,
    route,
    keyedCommand,
    user,
    at,
  );
  if (recordedDecision !== null) return recordedDecision;

  const licenses = findLicenses(state, command);
  if (!licenses.ok) return licenses;
  const valid = filterValidLicenses(state, licenses.value, context);
  if (!valid.ok) return valid;
  const usable = findUsableFeatures(valid.value, code, at);
  if (!usable.ok) return usable;
  const countingLicenses = valid.value.filter(
    (license) => findFeatureCounter(license, code, at) !== null,
  );
  if (countingLicenses.length === 0) return err({ code: "unsupported_product_feature" });

  const choice = chooseCounter(
    preferLicenseHeldBy(countingLicenses, user, at),
    command,
    at,
    (license) => findFeatureCounter(license, code, at),
  );
  if ("refused" in choice) {
    return err(
      choice.refused === "negative"
        ? { code: "negative_not_allowed", total: choice.total, allowed: choice.allowed }
        : { code: "feature_not_enough_consumptions", left: choice.left },
    );
  }
  const { license, ...counterFields } = choice;
  const outcome = { license: license.id, feature: code, total: counterFields.total };
  if (count === 0) return makeDecision([], outcome);
  const event: FeatureConsumptionAdded = {
    type: "FeatureConsumptionAdded",
    at,
    license: license.id,
    feature: code,
    user,
    peer,
    count,
    ...counterFields,
  };
  return makeDecision(
    [event, ...recordOutcome(state, route, keyedCommand, command, outcome, at)],
    outcome,
  );
}

export const makeFeatureExpired = (
  license: number,
  feature: string,
  { user, slot, end }: BaseRegistration,
): FeatureExpired => ({ type: "FeatureExpired", at: end, license, feature, user, slot });

interface FeatureTarget {
  readonly user: string;
  readonly feature: string;
  readonly licenses: readonly License[];
}

function resolveFeatureTarget(
  state: State,
  command: LicenseSelector & { readonly user: string | null; readonly feature: string | null },
): Result<FeatureTarget, Fault> {
  const { user, feature } = command;
  const missing = findMissingFields(state, command, { user, feature });
  if (user === null || feature === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const licenses = findLicenses(state, command);
  return licenses.ok ? ok({ user, feature, licenses: licenses.value }) : licenses;
}

/** The licenses with this feature; a fault if the feature has expired in all of them. */
function findUsableFeatures(
  licenses: readonly License[],
  code: string,
  at: Instant,
): Result<readonly { readonly license: License; readonly feature: Feature }[], Fault> {
  const usable: { license: License; feature: Feature }[] = [];
  let fault: Fault = { code: "invalid_license_feature_code" };
  for (const license of licenses) {
    const feature = license.features.get(code);
    if (feature === undefined) continue;
    const { expires } = feature.terms;
    if (expires === null || at < expires) usable.push({ license, feature });
    else fault = { code: "license_expired", what: "feature", end: expires };
  }
  return usable.length === 0 ? err(fault) : ok(usable);
}

function findFeatureCounter(license: License, code: string, at: Instant) {
  const feature = license.features.get(code);
  if (feature === undefined) return null;
  const { consumption, expires } = feature.terms;
  if (consumption === null || (expires !== null && at >= expires)) return null;
  return { terms: consumption, counter: feature.counter };
}
