import { chooseCounter, preferLicenseHeldBy, type ConsumptionRequest } from "./counters.ts";
import { makeDecision, type Decision } from "../model/decision.ts";
import type { FeatureConsumptionAdded } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { findRecordedOutcome, recordOutcome } from "../idempotency/idempotency.ts";
import {
  findLicenses,
  findMissingFields,
  filterValidLicenses,
  type LicenseSelector,
} from "../licenses/licenses.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { License, State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import { findUsableFeatures, type FeatureOutcome } from "../features/features.ts";

export interface AddFeatureConsumption extends LicenseSelector, ConsumptionRequest {
  readonly type: "AddFeatureConsumption";
  readonly feature: string | null;
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

function findFeatureCounter(license: License, code: string, at: Instant) {
  const feature = license.features.get(code);
  if (feature === undefined) return null;
  const { consumption, expires } = feature.terms;
  if (consumption === null || (expires !== null && at >= expires)) return null;
  return { terms: consumption, counter: feature.counter };
}
